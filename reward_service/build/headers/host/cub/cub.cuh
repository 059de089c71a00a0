// What aliases at namespace scope may name of CUB's block and warp algorithms. The device-wide ones
// are left out: they launch kernels, which the stock build must compile.
#pragma once

namespace cub {
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1,
          int Z = 1>
struct BlockReduce {
  struct TempStorage;
};
template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
struct BlockScan {
  struct TempStorage;
};
template <typename T, int Threads = 32>
struct WarpReduce {
  struct TempStorage;
};
template <typename T, int Threads = 32>
struct WarpScan {
  struct TempStorage;
};
}  // namespace cub
