// The types that signatures of functions may name; device code alone has objects of them.
#pragma once

namespace cooperative_groups {
class thread_group;
class thread_block;
class grid_group;
class cluster_group;
class coalesced_group;
template <unsigned Size, typename Parent = thread_block>
class thread_block_tile;
template <typename T>
struct plus;
template <typename T>
struct less;
template <typename T>
struct greater;
}  // namespace cooperative_groups
