// How the runtime calls a bound function, lambda or function object: `Binding<F, Guard>`.
#pragma once

#include "binding_convert.h"

#pragma GCC visibility push(hidden)
namespace reward_service::binding {

struct NoGuard {};

// What torch::wrap_pybind_function makes: the callable is called inside torch's error handling.
template <class F, bool ReleaseGil>
struct Wrapped {
  F function;
};

// The signature of a function object, from its only operator().
template <class M>
struct MemberSignature;
#define REWARD_SERVICE_BINDING_MEMBER(QUALIFIERS)     \
  template <class C, class R, class... P>             \
  struct MemberSignature<R (C::*)(P...) QUALIFIERS> { \
    using type = R(P...);                             \
  };
REWARD_SERVICE_BINDING_MEMBER()
REWARD_SERVICE_BINDING_MEMBER(const)
REWARD_SERVICE_BINDING_MEMBER(noexcept)
REWARD_SERVICE_BINDING_MEMBER(const noexcept)
#undef REWARD_SERVICE_BINDING_MEMBER

// `type`: the signature of a callable F.
template <class F>
struct SignatureOf : MemberSignature<decltype(&F::operator())> {};
template <class R, class... P>
struct SignatureOf<R (*)(P...)> {
  using type = R(P...);
};
template <class R, class... P>
struct SignatureOf<R (*)(P...) noexcept> {
  using type = R(P...);
};

// How a callable F is kept behind a pointer, and called as an `As`.
template <class F, class As = F>
struct Kept {
  static void* keep(F&& function) { return new F(static_cast<F&&>(function)); }
  static void destroy(void* kept) { delete static_cast<F*>(kept); }
  static constexpr void (*destroyer)(void*) = destroy;
  static As& get(void* kept) { return *static_cast<F*>(kept); }
};
template <class R, class... P, class As>
struct Kept<R (*)(P...), As> {
  static void* keep(R (*function)(P...)) { return reinterpret_cast<void*>(function); }
  static constexpr void (*destroyer)(void*) = nullptr;
  static auto get(void* kept) { return reinterpret_cast<R (*)(P...)>(kept); }
};

// Calls `call` for its result, as it is or inside torch's error handling.
template <class R>
struct Plainly {
  template <class Call>
  static R run(const Call& call) {
    return call();
  }
};
template <class R, bool ReleaseGil>
struct Guardedly {
  template <class Call>
  static R run(const Call& call) {
    if constexpr (std::is_void_v<R>) {
      call_guarded([](const void* c) { (*static_cast<const Call*>(c))(); }, &call, ReleaseGil);
    } else {
      std::optional<R> result;
      const auto body = [&] { result.emplace(call()); };
      call_guarded(
          [](const void* b) { (*static_cast<decltype(&body)>(b))(); }, &body, ReleaseGil);
      return *std::move(result);
    }
  }
};

// How the runtime calls a callable that is kept by K, in the manner of M.
template <class K, class M, class Guard, class Indices, class R, class... P>
struct Caller;

template <class K, class M, class Guard, std::size_t... I, class R, class... P>
struct Caller<K, M, Guard, std::index_sequence<I...>, R, P...> {
  static_assert(sizeof...(P) <= max_arguments);
  struct Slots : Slot<I, bare_t<P>>... {};

  static PyObject* invoke(
      void* kept,
      [[maybe_unused]] PyObject* const* arguments,
      [[maybe_unused]] std::uint64_t convert) {
    [[maybe_unused]] Slots slots;
    if (!(static_cast<Slot<I, bare_t<P>>&>(slots).converter.load(
              arguments[I], (convert >> I & 1) != 0) &&
          ...)) {
      return try_next_overload();
    }
    const auto call = [&]() -> R {
      [[maybe_unused]] Guard guard;
      return K::get(kept)(
          static_cast<passed_t<P>>(static_cast<Slot<I, bare_t<P>>&>(slots).converter.get())...);
    };
    if constexpr (std::is_void_v<R>) {
      M::run(call);
      return new_none();
    } else {
      return Converter<bare_t<R>>::cast(M::run(call));
    }
  }

  static constexpr const Type* parameters[] = {&Converter<bare_t<P>>::type..., nullptr};

  static void describe(Definition& definition) {
    definition.invoke = invoke;
    definition.destroy = K::destroyer;
    definition.result = &Converter<bare_t<R>>::type;
    definition.parameters = parameters;
    definition.parameter_count = sizeof...(P);
  }
};

// The caller of a callable F under a guard, and what keeps F.
template <class F, class Guard, class S = typename SignatureOf<F>::type>
struct Binding;
template <class F, class Guard, class R, class... P>
struct Binding<F, Guard, R(P...)>
    : Caller<Kept<F>, Plainly<R>, Guard, std::index_sequence_for<P...>, R, P...> {
  static void* keep(F&& function) { return Kept<F>::keep(static_cast<F&&>(function)); }
};

template <class F, bool ReleaseGil>
struct SignatureOf<Wrapped<F, ReleaseGil>> : SignatureOf<F> {};
template <class F, bool ReleaseGil, class Guard, class R, class... P>
struct Binding<Wrapped<F, ReleaseGil>, Guard, R(P...)>
    : Caller<
          Kept<F, const F>,
          Guardedly<std::decay_t<R>, ReleaseGil>,
          Guard,
          std::index_sequence_for<P...>,
          R,
          P...> {
  static void* keep(Wrapped<F, ReleaseGil>&& wrapped) {
    return Kept<F>::keep(static_cast<F&&>(wrapped.function));
  }
};

}  // namespace reward_service::binding
#pragma GCC visibility pop
