#pragma once
#include <rs/cuda.h>
