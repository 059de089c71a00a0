// ArrayRef and the view types beside it.
#pragma once
#include <rs/exception.h>

namespace c10 {
template <typename T>
class ArrayRef {
 public:
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using value_type = T;

  constexpr ArrayRef() : Data(nullptr), Length(0) {}
  constexpr ArrayRef(const T& one) : Data(&one), Length(1) {}
  constexpr ArrayRef(const T* data, size_t length) : Data(data), Length(length) {}
  constexpr ArrayRef(const T* begin, const T* end) : Data(begin), Length(end - begin) {}
  template <
      typename Container,
      typename U = decltype(std::declval<Container>().data()),
      typename = std::enable_if_t<
          std::is_same_v<U, T*> || std::is_same_v<U, const T*>>>
  ArrayRef(const Container& c) : Data(c.data()), Length(c.size()) {}
  template <typename A>
  ArrayRef(const std::vector<T, A>&);
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : Data(a.data()), Length(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : Data(a), Length(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& list)
      : Data(list.begin()), Length(list.size()) {}

  constexpr iterator begin() const { return Data; }
  constexpr iterator end() const { return Data + Length; }
  constexpr const_iterator cbegin() const { return Data; }
  constexpr const_iterator cend() const { return Data + Length; }
  constexpr bool empty() const { return Length == 0; }
  constexpr const T* data() const { return Data; }
  constexpr size_t size() const { return Length; }
  constexpr const T& front() const { return Data[0]; }
  constexpr const T& back() const { return Data[Length - 1]; }
  constexpr bool equals(ArrayRef other) const;
  constexpr ArrayRef slice(size_t first, size_t count) const { return {Data + first, count}; }
  constexpr ArrayRef slice(size_t first) const { return {Data + first, Length - first}; }
  constexpr const T& operator[](size_t i) const { return Data[i]; }
  constexpr const T& at(size_t i) const { return Data[i]; }
  std::vector<T> vec() const;

 private:
  const T* Data;
  size_type Length;
};
template <typename T>
ArrayRef(const std::vector<T>&) -> ArrayRef<T>;

template <typename T>
bool operator==(ArrayRef<T>, ArrayRef<T>);
template <typename T>
bool operator!=(ArrayRef<T>, ArrayRef<T>);
template <typename T>
bool operator==(const std::vector<T>&, ArrayRef<T>);
template <typename T>
bool operator!=(const std::vector<T>&, ArrayRef<T>);
template <typename T>
bool operator==(ArrayRef<T>, const std::vector<T>&);
template <typename T>
bool operator!=(ArrayRef<T>, const std::vector<T>&);

template <typename T>
using HeaderOnlyArrayRef = ArrayRef<T>;
using IntArrayRef = ArrayRef<int64_t>;
using IntList = ArrayRef<int64_t>;

template <typename T>
class OptionalArrayRef {
 public:
  OptionalArrayRef();
  OptionalArrayRef(std::nullopt_t);
  OptionalArrayRef(const OptionalArrayRef&) = default;
  OptionalArrayRef(const std::optional<ArrayRef<T>>&);
  template <
      typename U = ArrayRef<T>,
      typename = std::enable_if_t<
          !std::is_same_v<std::decay_t<U>, OptionalArrayRef> &&
          std::is_constructible_v<ArrayRef<T>, U&&>>>
  OptionalArrayRef(U&&);
  OptionalArrayRef(std::initializer_list<T>);
  bool has_value() const;
  explicit operator bool() const;
  const ArrayRef<T>& value() const;
  const ArrayRef<T>& operator*() const;
  const ArrayRef<T>* operator->() const;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

// What c10::irange gives: something to loop over.
template <typename I>
struct irange_view {
  struct iterator {
    I operator*() const;
    iterator& operator++();
    bool operator!=(const iterator&) const;
  };
  iterator begin() const;
  iterator end() const;
};
template <typename A, typename B>
irange_view<B> irange(A, B);
template <typename B>
irange_view<B> irange(B);

using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
} // namespace c10

namespace torch::headeronly {
template <typename T>
using HeaderOnlyArrayRef = c10::ArrayRef<T>;
using IntHeaderOnlyArrayRef = c10::ArrayRef<int64_t>;
} // namespace torch::headeronly
