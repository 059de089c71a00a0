#pragma once
#include <rs/tensor.h>
