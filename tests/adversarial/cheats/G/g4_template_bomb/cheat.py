SOURCE = r"""
template <int Depth, long Place> struct Tree {
    static constexpr long left = Tree<Depth - 1, 2 * Place>::size;
    static constexpr long size = left + Tree<Depth - 1, 2 * Place + 1>::size;
};
template <long Place> struct Tree<0, Place> { static constexpr long size = Place; };
long size = Tree<30, 1>::size;
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
