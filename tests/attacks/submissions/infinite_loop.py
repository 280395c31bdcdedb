"""Never returns.

Expected: stopped (time).
Seconds: 0.7
"""


def softmax(scores, dim):
    while True:
        pass
