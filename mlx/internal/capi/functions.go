//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// proc is a C function that takes integers and pointers only.
//
// A struct of one pointer, as all handles are, travels in one integer register,
// as does a struct of 8 bytes that has an integer in it. So all of them are
// given as integers.
type proc uintptr

// functions are the C functions called, by their names.
type functions struct {
	mlx_set_error_handler proc

	mlx_string_new, mlx_string_data, mlx_string_free, mlx_version                                                                                                proc
	mlx_device_new_type, mlx_device_free, mlx_set_default_device, mlx_metal_is_available                                                                         proc
	mlx_device_info_new, mlx_device_info_get, mlx_device_info_free, mlx_device_info_get_string, mlx_device_info_get_size                                         proc
	mlx_stream_new_device, mlx_set_default_stream, mlx_synchronize                                                                                               proc
	mlx_get_active_memory, mlx_get_peak_memory, mlx_reset_peak_memory, mlx_clear_cache, mlx_set_wired_limit                                                      proc
	mlx_array_new_data, mlx_array_free, mlx_array_eval, mlx_array_size, mlx_array_nbytes, mlx_array_dtype                                                        proc
	mlx_array_data_float32, mlx_array_data_uint32                                                                                                                proc
	mlx_vector_array_new, mlx_vector_array_new_data, mlx_vector_array_set_data, mlx_vector_array_get, mlx_vector_array_free                                      proc
	mlx_eval, mlx_async_eval                                                                                                                                     proc
	mlx_add, mlx_multiply, mlx_sigmoid, mlx_matmul, mlx_divide                                                                                                   proc
	mlx_argmax_axis, mlx_astype, mlx_concatenate_axis, mlx_contiguous, mlx_reshape, mlx_slice, mlx_slice_update, mlx_swapaxes                                    proc
	mlx_take_axis, mlx_take_along_axis, mlx_transpose_axes, mlx_zeros, mlx_softmax_axis, mlx_sum_axis, mlx_argpartition_axis, mlx_argsort_axis, mlx_floor_divide proc
	mlx_quantize, mlx_dequantize, mlx_quantized_matmul, mlx_gather_mm, mlx_gather_qmm                                                                            proc
	mlx_addmm, mlx_fast_rms_norm, mlx_fast_rope, mlx_fast_scaled_dot_product_attention                                                                           proc
}

// marks are functions that nobody calls, but that came with the version from
// which on the others have the form in which they are called.
var marks = map[string]string{"mlx_bartlett": "mlx-c 0.6.0"}

// resolve looks up all functions. Those that are missing are named, all of
// them; purego's own way to bind functions would panic at the first.
func (f *functions) resolve(lib uintptr) error {
	var missing []string
	look := func(name string) proc {
		address, err := purego.Dlsym(lib, name)
		if err != nil || address == 0 {
			missing = append(missing, name)
			return 0
		}
		return proc(address)
	}
	t := reflect.TypeFor[functions]()
	for i := range t.NumField() {
		*(*proc)(unsafe.Add(unsafe.Pointer(f), t.Field(i).Offset)) = look(t.Field(i).Name)
	}
	for name := range marks {
		look(name)
	}
	if missing == nil {
		return nil
	}
	if len(missing) == 1 && marks[missing[0]] != "" {
		return fmt.Errorf("the library is older than %s, since it has no %s: update it (brew upgrade mlx-c)", marks[missing[0]], missing[0])
	}
	return fmt.Errorf("the library has no %s: it is not mlx-c, or one of another time: update it (brew upgrade mlx-c)", strings.Join(missing, ", "))
}

// fused are the functions with floating point arguments, which purego has to
// tell from the others by their types.
type fused struct {
	addmm   func(res unsafe.Pointer, c, a, b Handle, alpha, beta float32, s uintptr) int32
	rmsNorm func(res unsafe.Pointer, x, weight Handle, eps float32, s uintptr) int32
	rope    func(res unsafe.Pointer, x Handle, dims int32, traditional bool, base uint64, scale float32, offset int32, freqs Handle, s uintptr) int32
	sdpa    func(res unsafe.Pointer, q, k, v Handle, scale float32, mode *byte, mask, sinks Handle, s uintptr) int32
	// since MLX 0.32.2
	sdpaForce func(res unsafe.Pointer, q, k, v Handle, scale float32, mode *byte, mask, sinks Handle, force bool, s uintptr) int32
}

func (f *fused) bind(fn *functions) {
	purego.RegisterFunc(&f.addmm, uintptr(fn.mlx_addmm))
	purego.RegisterFunc(&f.rmsNorm, uintptr(fn.mlx_fast_rms_norm))
	purego.RegisterFunc(&f.rope, uintptr(fn.mlx_fast_rope))
	purego.RegisterFunc(&f.sdpa, uintptr(fn.mlx_fast_scaled_dot_product_attention))
	purego.RegisterFunc(&f.sdpaForce, uintptr(fn.mlx_fast_scaled_dot_product_attention))
}
