package analyze

import "time"

// SessionVersions is when a session began, and the versions of what measured
// and of what it ran on: engines' versions are in its summaries.
type SessionVersions struct {
	SessionID string
	Host      string
	StartedAt time.Time // UTC
	Tool      string    // tokwatt's version in the first segment; empty: not known
	OS        string    // name and version, such as "macOS 26.1"; empty: not known
}
