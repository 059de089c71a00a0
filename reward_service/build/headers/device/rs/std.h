// The standard headers that torch's own bring along and candidates rely on. The cheap ones always;
// each costly group where the source names something of it (device_pass.py, `needs`).
#pragma once
#ifdef RS_NEEDS_STD_ALL
#undef RS_NEEDS_STD_ALGORITHM
#define RS_NEEDS_STD_ALGORITHM
#undef RS_NEEDS_STD_FUNCTIONAL
#define RS_NEEDS_STD_FUNCTIONAL
#undef RS_NEEDS_STD_MAP
#define RS_NEEDS_STD_MAP
#undef RS_NEEDS_STD_MEMORY
#define RS_NEEDS_STD_MEMORY
#undef RS_NEEDS_STD_STREAM
#define RS_NEEDS_STD_STREAM
#undef RS_NEEDS_STD_STRING
#define RS_NEEDS_STD_STRING
#endif
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cuda_runtime.h>
#ifdef RS_NEEDS_STD_STRING
#include <stdexcept>
#include <string>
#include <string_view>
#endif
#ifdef RS_NEEDS_STD_ALGORITHM
#include <algorithm>
#include <iterator>
#include <numeric>
#endif
#ifdef RS_NEEDS_STD_FUNCTIONAL
#include <functional>
#endif
#ifdef RS_NEEDS_STD_MEMORY
#include <memory>
#endif
#ifdef RS_NEEDS_STD_MAP
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#endif
#ifdef RS_NEEDS_STD_STREAM
#include <iomanip>
#include <iostream>
#include <sstream>
#endif
#ifdef RS_NEEDS_STD_ALL
#include <atomic>
#include <chrono>
#include <complex>
#include <deque>
#include <fstream>
#include <list>
#include <mutex>
#include <queue>
#include <random>
#include <thread>
#include <typeinfo>
#include <variant>
#endif
#ifdef RS_NEEDS_CUDA_HALF
#include <cuda_fp16.h>
#endif
#ifdef RS_NEEDS_CUDA_BFLOAT16
#include <cuda_bf16.h>
#endif
