package openai

import (
	"encoding/json"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// fault is the error inside an answer, nil where there is none.
func (c *chunk) fault(data []byte) error {
	if len(c.Error) > 0 {
		switch string(c.Error) {
		case "null", "false", `""`, "{}", "[]":
		default:
			return serverError(data)
		}
	}
	if len(c.Choices) == 0 && c.Usage == nil && c.Timings == nil && isFault(data) {
		return serverError(data)
	}
	return nil
}

// isFault knows errors that stand at the top level: FastAPI's detail, and
// {"object": "error", "message": ...}.
func isFault(data []byte) bool {
	var f struct {
		Object, Type string
		Message      string
		Code         json.RawMessage
		Detail       json.RawMessage
	}
	_ = json.Unmarshal(data, &f) // fields of odd types are none of these
	return f.Object == "error" || f.Type == "error" || f.Message != "" && f.Code != nil || f.Detail != nil
}

func serverError(data []byte) error {
	return collect.Failf(collect.ErrServer, "the server reported an error: %s", wire.Reason(data))
}
