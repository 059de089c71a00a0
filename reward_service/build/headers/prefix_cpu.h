// What the precompiled header of C++ candidates holds: what <torch/extension.h> gives them, less
// pybind11 and torch::nn, with our binding in their place.
#include <Python.h>

#include <torch/types.h>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "common/standard.h"

#include "common/binding.h"
