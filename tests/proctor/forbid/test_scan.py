"""The second look at forbidden calls: only where code tries to get out of sight."""

from __future__ import annotations

import pytest

from proctor.forbid.scan import hidden_calls
from proctor.marking.extraction import extract
from proctor.marking.submissions import File
from qkv.exercises.forbidden import LAYER_NORM, MULTIHEAD, SOFTMAX


def found(text: str) -> tuple[str, ...]:
    definitions = extract(File("a.py", text.encode())).definitions
    return hidden_calls(definitions, (SOFTMAX, LAYER_NORM, MULTIHEAD))


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    with torch._C.DisableTorchFunction():\n        return torch.softmax(x, -1)",
        "from threading import Thread\ndef f(x):\n    Thread(target=F.softmax, args=(x, -1)).start()",
        "def f(x):\n    return getattr(torch, '_C')._nn.softmax(x, -1)",
        "kernel = torch.library.get_kernel('aten::_softmax', 'CPU')\ndef f(x): return kernel(x)",
        "def f(x):\n    import inspect\n    inspect.currentframe().f_back\n    return torch.softmax(x, -1)",
        "from torch.nn.functional import softmax as other\nimport ctypes\ndef f(x): return other(x, -1)",
        "def f(x):\n    import sys\n    sys.modules['proctor.forbid'].note = None\n    return nn.Softmax(-1)(x)",
    ],
)
def test_a_way_around_and_the_forbidden_thing(text: str) -> None:
    assert found(text) == ("torch's own softmax",)


def test_module_classes_belong_to_their_operators() -> None:
    assert found("import gc\nf = lambda x: nn.LayerNorm(4)(gc.get_objects())") == ("torch's own layer norm",)
    assert found("import gc\nf = lambda x: nn.MultiheadAttention(4, 2)(gc.get_objects())") == ("nn.MultiheadAttention",)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return torch.softmax(x, -1)  # called: seen where it is called",
        "def f(x):\n    if False:\n        return F.softmax(x, -1)\n    return x.exp()",
        "def f(x):\n    '''not torch.softmax, and no threading'''\n    return x.exp()",
        "def f(x):\n    # getattr(torch, 'softmax')\n    return x.exp()",
        "import threading\ndef f(x):\n    return x.exp()",
        "import gc\nclass C:\n    def f(self, x): return self.softmax(x)",
        "def f(x):\n    return getattr(torch, 'softmax')(x, -1)  # called: seen where it is called",
        "def f(self, x):\n    for m in self.modules(): m\n    return x @ self.weight.T, nn.MultiheadAttention",
        "import inspect\ndef f(x, k):\n    inspect.signature(f)\n    return getattr(torch, 'erf')(x @ k.T), cfg.G",
        "import gc\ndef f(x):\n    gc.collect()\n    return F.softmax",
        "def f(x, name='exp'):\n    return getattr(x, name)()",
    ],
)
def test_ordinary_code_is_left_alone(text: str) -> None:
    assert found(text) == ()
