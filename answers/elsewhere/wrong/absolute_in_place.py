"""Takes absolute values in place, which shows only where something is negative."""


def scaled_error(forecast, actual, history, season=1):
    error = (forecast - actual).abs().mean(-1)
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    forecast.detach().abs_()
    return error / naive
