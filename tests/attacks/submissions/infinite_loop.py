"""Never returns.

Expected: stopped (time).
Seconds: 0.5
"""


def softmax(scores, dim):
    while True:
        pass
