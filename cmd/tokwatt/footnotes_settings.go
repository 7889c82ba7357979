package main

import (
	"context"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// addSettingNotes says of the targets of a session that have one engine and model
// in which settings they differ.
func addSettingNotes(ctx context.Context, db *duck.DB, ids []string, notes map[targetKey][]string) error {
	type model struct{ session, engine, id, quantization string }
	alike := map[model][]targetKey{}
	settings := map[targetKey]string{}
	err := eachTarget(ctx, db, "select session_id, target_id, engine, model_id, model_quantization, sampling_json from targets where "+ofSessions(ids)+
		" order by session_id, target_id", func(key targetKey, row []any) {
		var text [4]string
		for i := range text {
			text[i], _ = row[i].(string)
		}
		m := model{key.session, text[0], text[1], text[2]}
		alike[m] = append(alike[m], key)
		settings[key] = text[3]
	})
	for _, keys := range alike {
		var texts []string
		for _, key := range keys {
			texts = append(texts, settings[key])
		}
		paths := analyze.DifferingSettings(texts)
		for _, key := range keys {
			if words := analyze.SettingWords(settings[key], paths); words != "" {
				notes[key] = append(notes[key], "set apart from other targets by "+words)
			}
		}
	}
	return err
}
