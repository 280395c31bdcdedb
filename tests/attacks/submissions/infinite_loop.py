"""Never returns.

Expected: stopped (time).
Seconds: 0.25
"""


def softmax(scores, dim):
    while True:
        pass
