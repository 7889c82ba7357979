//go:build !((darwin || (linux && (cgo || mlx))) && (amd64 || arm64))

package lazy

import (
	"errors"

	"tokwatt/mlx/internal/backend"
)

// Open fails: this build can't call libraries.
func Open(string) (backend.Backend, error) {
	return nil, errors.New("this build of tokwatt has no MLX: build it on Linux with cgo, or with -tags mlx")
}
