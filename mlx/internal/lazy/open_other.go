//go:build !((darwin || (linux && (cgo || mlx))) && (amd64 || arm64))

package lazy

import "tokwatt/mlx/internal/backend"

// Open fails: this build can't call libraries.
func Open(string) (backend.Backend, error) { return nil, ErrBuild }
