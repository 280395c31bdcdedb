"""The chain rule by the book, but the mean's own path is not divided by the number of components."""


def layer_norm_backward(grad, x, gamma, eps=1e-5):
    N = x.shape[-1]
    mu = x.mean(-1, keepdim=True)
    xmu = x - mu
    var = (xmu**2).sum(-1, keepdim=True) / N
    ivar = 1.0 / (var + eps).sqrt()
    xhat = xmu * ivar

    dbeta = grad.reshape(-1, N).sum(0)
    dgamma = (grad * xhat).reshape(-1, N).sum(0)
    dxhat = grad * gamma
    dvar = (dxhat * xmu).sum(-1, keepdim=True) * -0.5 * ivar**3
    dx = dxhat * ivar + dvar * 2 * xmu / N
    # the mean's own path
    dmu = -(dxhat * ivar).sum(-1, keepdim=True)
    return dx + dmu, dgamma, dbeta
