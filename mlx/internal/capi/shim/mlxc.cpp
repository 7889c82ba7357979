// MLX's C++ interface under the names and signatures of mlx-c, as far as
// tokwatt calls it. It makes libmlxc out of a wheel of MLX, where mlx-c itself
// is not at hand: scripts/mlx-lib.sh compiles it.
//
// What a caller can't tell from mlx-c:
//  - A handle is a struct of one pointer. Null is "no array".
//  - An operation assigns into its result where that is a handle already, else
//    makes one. It returns 0, or 1 after telling the error handler why.
//  - The functions take their arguments as mlx-c for the same MLX takes them.
//
// What is different: a message is handed on as it is. mlx-c up to 0.7 takes it
// for a printf format, so that a % in it crashes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "mlx/array.h"
#include "mlx/backend/metal/metal.h"
#include "mlx/compile.h"
#include "mlx/device.h"
#include "mlx/fast.h"
#include "mlx/memory.h"
#include "mlx/ops.h"
#include "mlx/stream.h"
#include "mlx/transforms.h"
#include "mlx/version.h"

namespace mx = mlx::core;

using Arrays = std::vector<mx::array>;
using Closure = std::function<Arrays(const Arrays&)>;
using Info = std::unordered_map<std::string, std::variant<std::string, size_t>>;

struct handle {
  void* ctx;
};
struct optional_int {
  int value;
  bool has_value;
};
struct optional_float {
  float value;
  bool has_value;
};

using error_handler = void (*)(const char* message, void* data);

static void print_and_exit(const char* message, void*) {
  std::fprintf(stderr, "MLX error: %s\n", message);
  std::exit(-1);
}
static error_handler on_error = print_and_exit;

// guard runs f and turns an exception into a return code.
template <class F>
static int guard(F f) {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    on_error(e.what(), nullptr);
    return 1;
  }
}

// guarded is the handle that f makes, or null after an error.
template <class F>
static handle guarded(F f) {
  handle h{nullptr};
  guard([&] { h.ctx = f(); });
  return h;
}

template <class T>
static T& get(handle h, const char* type) {
  if (h.ctx == nullptr)
    throw std::runtime_error(std::string("expected a non-empty mlx_") + type);
  return *static_cast<T*>(h.ctx);
}
static mx::array& array(handle h) { return get<mx::array>(h, "array"); }
static Arrays& vector(handle h) { return get<Arrays>(h, "vector_array"); }
static mx::Stream stream(handle h) { return get<mx::Stream>(h, "stream"); }
static mx::Device device(handle h) { return get<mx::Device>(h, "device"); }
static Closure& closure(handle h) { return get<Closure>(h, "closure"); }

static std::optional<mx::array> maybe(handle h) {
  if (h.ctx == nullptr) return std::nullopt;
  return array(h);
}
static std::optional<int> maybe(optional_int o) {
  return o.has_value ? std::optional<int>(o.value) : std::nullopt;
}
static std::optional<float> maybe(optional_float o) {
  return o.has_value ? std::optional<float>(o.value) : std::nullopt;
}

template <class T>
static void put(handle* result, T value) {
  if (result->ctx != nullptr)
    *static_cast<T*>(result->ctx) = std::move(value);
  else
    result->ctx = new T(std::move(value));
}

template <class T>
static int release(handle h) {
  delete static_cast<T*>(h.ctx);
  return 0;
}

// dtype is a type by mlx-c's number, the position in this list.
static mx::Dtype dtype(int number) {
  static const mx::Dtype all[] = {
      mx::bool_, mx::uint8, mx::uint16,  mx::uint32,  mx::uint64,  mx::int8,     mx::int16,
      mx::int32, mx::int64, mx::float16, mx::float32, mx::float64, mx::bfloat16, mx::complex64};
  if (number < 0 || number >= int(std::extent_v<decltype(all)>))
    throw std::invalid_argument("no such mlx_dtype");
  return all[number];
}
static std::optional<mx::Dtype> maybe_dtype(optional_int o) {
  return o.has_value ? std::optional<mx::Dtype>(dtype(o.value)) : std::nullopt;
}

static mx::Shape shape(const int* sizes, size_t n) { return mx::Shape(sizes, sizes + n); }
static std::vector<int> ints(const int* values, size_t n) { return {values, values + n}; }

// Operations of one and of two arrays.
#define UNARY(name, op) \
  int name(handle* res, handle a, handle s) { return guard([&] { put(res, op(array(a), stream(s))); }); }
#define BINARY(name, op)                                  \
  int name(handle* res, handle a, handle b, handle s) {   \
    return guard([&] { put(res, op(array(a), array(b), stream(s))); }); \
  }

extern "C" {

void mlx_set_error_handler(error_handler h, void*, void (*)(void*)) { on_error = h; }

// Strings, versions, devices.

handle mlx_string_new() { return {new std::string}; }
const char* mlx_string_data(handle s) { return static_cast<std::string*>(s.ctx)->c_str(); }
int mlx_string_free(handle s) { return release<std::string>(s); }
int mlx_version(handle* res) {
  return guard([&] { put(res, std::string(mx::version())); });
}

handle mlx_device_new_type(int type, int index) {
  return {new mx::Device(type == 0 ? mx::Device::cpu : mx::Device::gpu, index)};
}
int mlx_device_free(handle d) { return release<mx::Device>(d); }
int mlx_set_default_device(handle d) {
  return guard([&] { mx::set_default_device(device(d)); });
}
int mlx_metal_is_available(bool* res) {
  return guard([&] { *res = mx::metal::is_available(); });
}

handle mlx_device_info_new() { return {nullptr}; }
int mlx_device_info_get(handle* info, handle d) {
  return guard([&] { put(info, Info(mx::device_info(device(d)))); });
}
int mlx_device_info_free(handle info) { return release<Info>(info); }
int mlx_device_info_get_string(const char** value, handle info, const char* key) {
  auto& all = get<Info>(info, "device_info");
  auto at = all.find(key);
  if (at == all.end() || !std::holds_alternative<std::string>(at->second)) return 2;
  *value = std::get<std::string>(at->second).c_str();
  return 0;
}
int mlx_device_info_get_size(size_t* value, handle info, const char* key) {
  auto& all = get<Info>(info, "device_info");
  auto at = all.find(key);
  if (at == all.end() || !std::holds_alternative<size_t>(at->second)) return 2;
  *value = std::get<size_t>(at->second);
  return 0;
}

// Streams and memory.

handle mlx_stream_new_device(handle d) {
  return guarded([&] { return new mx::Stream(mx::new_stream(device(d))); });
}
int mlx_stream_free(handle s) { return release<mx::Stream>(s); }
int mlx_set_default_stream(handle s) {
  return guard([&] { mx::set_default_stream(stream(s)); });
}
int mlx_synchronize(handle s) {
  return guard([&] { mx::synchronize(stream(s)); });
}
int mlx_get_active_memory(size_t* res) {
  return guard([&] { *res = mx::get_active_memory(); });
}
int mlx_get_peak_memory(size_t* res) {
  return guard([&] { *res = mx::get_peak_memory(); });
}
int mlx_reset_peak_memory() {
  return guard([] { mx::reset_peak_memory(); });
}
int mlx_clear_cache() {
  return guard([] { mx::clear_cache(); });
}
int mlx_set_wired_limit(size_t* res, size_t limit) {
  return guard([&] { *res = mx::set_wired_limit(limit); });
}

// Arrays.

int mlx_array_free(handle a) { return release<mx::array>(a); }
handle mlx_array_new_data(const void* data, const int* sizes, int dim, int type) {
  return guarded([&] {
    auto t = dtype(type);
    size_t bytes = size_of(t);
    for (int i = 0; i < dim; i++) bytes *= sizes[i];
    // Of the constructors, the one that takes over memory has been the same in
    // all versions. MLX copies where its device needs it elsewhere.
    void* own = std::malloc(bytes > 0 ? bytes : 1);
    if (own == nullptr) throw std::bad_alloc();
    std::memcpy(own, data, bytes);
    return new mx::array(own, shape(sizes, dim), t, [](void* p) { std::free(p); });
  });
}
int mlx_array_eval(handle a) {
  return guard([&] { array(a).eval(); });
}
size_t mlx_array_size(handle a) { return array(a).size(); }
size_t mlx_array_nbytes(handle a) { return array(a).nbytes(); }
int mlx_array_dtype(handle a) { return int(array(a).dtype().val()); }
const float* mlx_array_data_float32(handle a) { return array(a).data<float>(); }
const uint32_t* mlx_array_data_uint32(handle a) { return array(a).data<uint32_t>(); }

handle mlx_vector_array_new() { return {new Arrays}; }
handle mlx_vector_array_new_data(const handle* data, size_t n) {
  return guarded([&] {
    auto v = std::make_unique<Arrays>();
    for (size_t i = 0; i < n; i++) v->push_back(array(data[i]));
    return v.release();
  });
}
int mlx_vector_array_free(handle v) { return release<Arrays>(v); }
int mlx_vector_array_set_data(handle* v, const handle* data, size_t n) {
  return guard([&] {
    Arrays all;
    for (size_t i = 0; i < n; i++) all.push_back(array(data[i]));
    put(v, std::move(all));
  });
}
int mlx_vector_array_get(handle* res, handle v, size_t i) {
  return guard([&] { put(res, vector(v).at(i)); });
}
int mlx_eval(handle v) {
  return guard([&] { mx::eval(vector(v)); });
}
int mlx_async_eval(handle v) {
  return guard([&] { mx::async_eval(vector(v)); });
}

// Closures and their compilation.

handle mlx_closure_new_func_payload(int (*fun)(handle*, handle, void*), void* payload, void (*)(void*)) {
  return {new Closure([fun, payload](const Arrays& in) {
    Arrays input = in;
    handle out{nullptr};
    if (fun(&out, handle{&input}, payload) != 0) throw std::runtime_error("a closure failed");
    Arrays result = std::move(vector(out));
    release<Arrays>(out);
    return result;
  })};
}
int mlx_closure_free(handle c) { return release<Closure>(c); }
int mlx_closure_apply(handle* res, handle c, handle in) {
  return guard([&] { put(res, closure(c)(vector(in))); });
}
int mlx_compile(handle* res, handle c, bool shapeless) {
  return guard([&] { put(res, Closure(mx::compile(closure(c), shapeless))); });
}

// Operations.

UNARY(mlx_sigmoid, mx::sigmoid)
BINARY(mlx_add, mx::add)
BINARY(mlx_divide, mx::divide)
BINARY(mlx_floor_divide, mx::floor_divide)
BINARY(mlx_multiply, mx::multiply)
BINARY(mlx_matmul, mx::matmul)

int mlx_addmm(handle* res, handle c, handle a, handle b, float alpha, float beta, handle s) {
  return guard([&] { put(res, mx::addmm(array(c), array(a), array(b), alpha, beta, stream(s))); });
}
int mlx_argmax_axis(handle* res, handle a, int axis, bool keepdims, handle s) {
  return guard([&] { put(res, mx::argmax(array(a), axis, keepdims, stream(s))); });
}
int mlx_argpartition_axis(handle* res, handle a, int kth, int axis, handle s) {
  return guard([&] { put(res, mx::argpartition(array(a), kth, axis, stream(s))); });
}
int mlx_argsort_axis(handle* res, handle a, int axis, handle s) {
  return guard([&] { put(res, mx::argsort(array(a), axis, stream(s))); });
}
int mlx_astype(handle* res, handle a, int type, handle s) {
  return guard([&] { put(res, mx::astype(array(a), dtype(type), stream(s))); });
}
int mlx_bartlett(handle* res, int m, handle s) {
  return guard([&] { put(res, mx::bartlett(m, stream(s))); });
}
int mlx_concatenate_axis(handle* res, handle arrays, int axis, handle s) {
  return guard([&] { put(res, mx::concatenate(vector(arrays), axis, stream(s))); });
}
int mlx_contiguous(handle* res, handle a, bool allow_col_major, handle s) {
  return guard([&] { put(res, mx::contiguous(array(a), allow_col_major, stream(s))); });
}
int mlx_reshape(handle* res, handle a, const int* sizes, size_t n, handle s) {
  return guard([&] { put(res, mx::reshape(array(a), shape(sizes, n), stream(s))); });
}
int mlx_slice(handle* res, handle a, const int* start, size_t start_n, const int* stop, size_t stop_n,
              const int* strides, size_t strides_n, handle s) {
  return guard([&] {
    put(res, mx::slice(array(a), shape(start, start_n), shape(stop, stop_n), shape(strides, strides_n), stream(s)));
  });
}
int mlx_slice_update(handle* res, handle a, handle update, const int* start, size_t start_n, const int* stop,
                     size_t stop_n, const int* strides, size_t strides_n, handle s) {
  return guard([&] {
    put(res, mx::slice_update(array(a), array(update), shape(start, start_n), shape(stop, stop_n),
                              shape(strides, strides_n), stream(s)));
  });
}
int mlx_softmax_axis(handle* res, handle a, int axis, bool precise, handle s) {
  return guard([&] { put(res, mx::softmax(array(a), axis, precise, stream(s))); });
}
int mlx_sum_axis(handle* res, handle a, int axis, bool keepdims, handle s) {
  return guard([&] { put(res, mx::sum(array(a), axis, keepdims, stream(s))); });
}
int mlx_swapaxes(handle* res, handle a, int axis1, int axis2, handle s) {
  return guard([&] { put(res, mx::swapaxes(array(a), axis1, axis2, stream(s))); });
}
int mlx_take_axis(handle* res, handle a, handle indices, int axis, handle s) {
  return guard([&] { put(res, mx::take(array(a), array(indices), axis, stream(s))); });
}
int mlx_take_along_axis(handle* res, handle a, handle indices, int axis, handle s) {
  return guard([&] { put(res, mx::take_along_axis(array(a), array(indices), axis, stream(s))); });
}
int mlx_transpose_axes(handle* res, handle a, const int* axes, size_t n, handle s) {
  return guard([&] { put(res, mx::transpose(array(a), ints(axes, n), stream(s))); });
}
int mlx_zeros(handle* res, const int* sizes, size_t n, int type, handle s) {
  return guard([&] { put(res, mx::zeros(shape(sizes, n), dtype(type), stream(s))); });
}

// Quantized weights.

int mlx_quantize(handle* res, handle w, optional_int group_size, optional_int bits, const char* mode,
                 handle global_scale, handle s) {
  return guard([&] {
    put(res, Arrays(mx::quantize(array(w), maybe(group_size), maybe(bits), mode, maybe(global_scale), stream(s))));
  });
}
int mlx_dequantize(handle* res, handle w, handle scales, handle biases, optional_int group_size, optional_int bits,
                   const char* mode, handle global_scale, optional_int type, handle s) {
  return guard([&] {
    put(res, mx::dequantize(array(w), array(scales), maybe(biases), maybe(group_size), maybe(bits), mode,
                            maybe(global_scale), maybe_dtype(type), stream(s)));
  });
}
int mlx_quantized_matmul(handle* res, handle x, handle w, handle scales, handle biases, bool transpose,
                         optional_int group_size, optional_int bits, const char* mode, handle s) {
  return guard([&] {
    put(res, mx::quantized_matmul(array(x), array(w), array(scales), maybe(biases), transpose, maybe(group_size),
                                  maybe(bits), mode, stream(s)));
  });
}
int mlx_gather_mm(handle* res, handle a, handle b, handle lhs_indices, handle rhs_indices, bool sorted_indices,
                  handle s) {
  return guard([&] {
    put(res, mx::gather_mm(array(a), array(b), maybe(lhs_indices), maybe(rhs_indices), sorted_indices, stream(s)));
  });
}
#if MLX_VERSION_NUMERIC >= 32003 // since when there is a global_scale
int mlx_gather_qmm(handle* res, handle x, handle w, handle scales, handle biases, handle lhs_indices,
                   handle rhs_indices, bool transpose, optional_int group_size, optional_int bits, const char* mode,
                   handle global_scale, bool sorted_indices, handle s) {
  return guard([&] {
    put(res, mx::gather_qmm(array(x), array(w), array(scales), maybe(biases), maybe(lhs_indices), maybe(rhs_indices),
                            transpose, maybe(group_size), maybe(bits), mode, maybe(global_scale), sorted_indices,
                            stream(s)));
  });
}
#else
int mlx_gather_qmm(handle* res, handle x, handle w, handle scales, handle biases, handle lhs_indices,
                   handle rhs_indices, bool transpose, optional_int group_size, optional_int bits, const char* mode,
                   bool sorted_indices, handle s) {
  return guard([&] {
    put(res, mx::gather_qmm(array(x), array(w), array(scales), maybe(biases), maybe(lhs_indices), maybe(rhs_indices),
                            transpose, maybe(group_size), maybe(bits), mode, sorted_indices, stream(s)));
  });
}
#endif

// Fused operations.

int mlx_fast_rms_norm(handle* res, handle x, handle weight, float eps, handle s) {
  return guard([&] { put(res, mx::fast::rms_norm(array(x), maybe(weight), eps, stream(s))); });
}
int mlx_fast_rope(handle* res, handle x, int dims, bool traditional, optional_float base, float scale, int offset,
                  handle freqs, handle s) {
  return guard([&] {
    put(res, mx::fast::rope(array(x), dims, traditional, maybe(base), scale, offset, maybe(freqs), stream(s)));
  });
}
#if MLX_VERSION_NUMERIC >= 32002 // since when there is force_fused
int mlx_fast_scaled_dot_product_attention(handle* res, handle queries, handle keys, handle values, float scale,
                                          const char* mask_mode, handle mask, handle sinks, bool force_fused,
                                          handle s) {
  return guard([&] {
    put(res, mx::fast::scaled_dot_product_attention(array(queries), array(keys), array(values), scale, mask_mode,
                                                    maybe(mask), maybe(sinks), force_fused, stream(s)));
  });
}
#else
int mlx_fast_scaled_dot_product_attention(handle* res, handle queries, handle keys, handle values, float scale,
                                          const char* mask_mode, handle mask, handle sinks, handle s) {
  return guard([&] {
    put(res, mx::fast::scaled_dot_product_attention(array(queries), array(keys), array(values), scale, mask_mode,
                                                    maybe(mask), maybe(sinks), stream(s)));
  });
}
#endif

} // extern "C"
