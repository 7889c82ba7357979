package duck

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// tableFunctions are those a query may call in FROM: they compute, describe,
// or read Parquet files, which the lock holds to the dataset. It is a list of
// what is known to be harmless and not of what is known to harm: DuckDB has
// table functions that run SQL from a string, write logs to a file, or change
// the session, and each release brings new ones.
var tableFunctions = []string{
	"duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_settings", "duckdb_tables", "duckdb_types", "duckdb_views",
	"generate_series", "glob", "histogram", "histogram_values", "json_each", "json_tree",
	"parquet_file_metadata", "parquet_full_metadata", "parquet_kv_metadata", "parquet_metadata", "parquet_scan", "parquet_schema",
	"pragma_table_info", "range", "read_parquet", "repeat", "test_all_types", "unnest",
}

// refusedFunctions are the scalar functions with an effect outside the query.
var refusedFunctions = []string{"write_log", "nextval", "setseed"}

var errNotReading = errors.New("only SELECT, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE run, one statement at a time " +
	"(PIVOT with its IN list); results are written with --out")

// vet lets one reading statement through: it returns the text to run. A
// statement is judged by DuckDB's own parse tree, so that no comment, quoting
// or new syntax can hide what it is. DuckDB makes trees of SELECT alone (WITH,
// VALUES, FROM first, DESCRIBE, SHOW and SUMMARIZE are SELECTs in it).
func (db *DB) vet(ctx context.Context, sql string) (string, error) {
	// A C string ends at its first NUL: what is judged would not be what is run.
	if strings.ContainsRune(sql, 0) || !utf8.ValidString(sql) {
		return "", &Error{Message: "the SQL is not text: it must be UTF-8 without NUL"}
	}
	explain, selected, err := splitExplain(sql)
	if err != nil {
		return "", err
	}
	tree, err := db.parse(ctx, selected)
	if err != nil {
		return "", err
	}
	if err := checkTree(tree); err != nil {
		return "", err
	}
	return explain + selected, nil
}

// explainHead is EXPLAIN with all that may stand before the statement.
var explainHead = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\b\s*(analy[sz]e\b)?\s*(?:\(([a-z_,\s]*)\)(\s*(?:select|with|from|values|describe|show|summarize|table|pivot|unpivot)\b))?`)

// splitExplain takes EXPLAIN off a statement. What it returns in its place is
// built from known words: EXPLAIN ANALYZE runs its statement, and the parse
// tree of that statement is all that stands between it and a COPY.
func splitExplain(sql string) (explain, rest string, err error) {
	m := explainHead.FindStringSubmatchIndex(sql)
	if m == nil {
		return "", sql, nil
	}
	explain = "explain "
	analyze := m[2] >= 0
	rest = sql[m[1]:]
	if m[6] >= 0 {
		rest = sql[m[6]:]
		for _, option := range strings.Split(sql[m[4]:m[5]], ",") {
			switch words := strings.Fields(strings.ToLower(option)); {
			case len(words) == 1 && (words[0] == "analyze" || words[0] == "analyse"):
				analyze = true
			case len(words) == 2 && words[0] == "format" && slices.Contains([]string{"text", "json", "html", "graphviz", "yaml", "mermaid"}, words[1]):
				explain = "explain (format " + words[1] + ") "
			default:
				return "", "", &Error{Message: "EXPLAIN takes ANALYZE and FORMAT text, json, html, graphviz, yaml or mermaid, not " + strings.TrimSpace(option)}
			}
		}
	}
	if analyze {
		explain = strings.Replace(explain, "explain (", "explain (analyze, ", 1)
		if explain == "explain " {
			explain = "explain analyze "
		}
	}
	return explain, rest, nil
}

// parseTree is what json_serialize_sql makes of a text.
type parseTree struct {
	Error      bool   `json:"error"`
	ErrorType  string `json:"error_type"`
	Message    string `json:"error_message"`
	Statements []struct {
		Node       json.RawMessage `json:"node"`
		Parameters []any           `json:"named_param_map"`
	} `json:"statements"`
}

func (db *DB) parse(ctx context.Context, sql string) (parseTree, error) {
	var tree parseTree
	set, err := db.conn.query(ctx, "select cast(json_serialize_sql(cast(? as varchar)) as varchar)", sql)
	if err != nil {
		return tree, sqlError(err)
	}
	defer set.Close()
	row := make([]driver.Value, 1)
	if err := set.Next(row); err != nil {
		return tree, sqlError(err)
	}
	text, ok := row[0].(string)
	if !ok {
		return tree, errNotReading
	}
	return tree, json.Unmarshal(finite([]byte(text)), &tree)
}

// finite replaces the numbers that JSON does not have by null. DuckDB writes
// Infinity and NaN as bare words; text is a string literal and stays as it is.
func finite(text []byte) []byte {
	return notFinite.ReplaceAllFunc(text, func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return []byte("null")
	})
}

// notFinite finds whole string literals too, so that nothing inside one is
// found.
var notFinite = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?i:infinity|inf|nan)\b`)

func checkTree(tree parseTree) error {
	switch {
	case tree.Error && tree.ErrorType == "parser":
		return &Error{Message: shorten(tree.Message)}
	case tree.Error:
		return &Error{Message: errNotReading.Error()}
	case len(tree.Statements) == 0:
		return &Error{Message: "the SQL is empty: give a SELECT, or the name of a file with one to --file"}
	case len(tree.Statements) > 1:
		return &Error{Message: errNotReading.Error()}
	case len(tree.Statements[0].Parameters) > 0:
		return &Error{Message: "the SQL has parameters (? or $1): write the values into it"}
	}
	var node any
	if err := json.Unmarshal(tree.Statements[0].Node, &node); err != nil {
		return fmt.Errorf("DuckDB's parse tree was not understood: %w", err)
	}
	return checkNode(node)
}

// checkNode walks the whole tree, expressions and subqueries included.
func checkNode(node any) error {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if err := checkNode(child); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := checkFunction(n); err != nil {
			return err
		}
		for _, child := range n {
			if err := checkNode(child); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFunction(n map[string]any) error {
	if n["type"] == "TABLE_FUNCTION" {
		function, _ := n["function"].(map[string]any)
		name, _ := function["function_name"].(string)
		if !slices.Contains(tableFunctions, strings.ToLower(name)) {
			return &Error{Message: fmt.Sprintf("the table function %s is not for queries: they read the exported tables", name)}
		}
	}
	name, _ := n["function_name"].(string)
	if slices.Contains(refusedFunctions, strings.ToLower(name)) {
		return &Error{Message: fmt.Sprintf("the function %s is not for queries: they only read", name)}
	}
	return nil
}
