package analyze

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetSchema is the Parquet form of a declaration. Every column may be
// NULL, lists are of strings that may not.
func parquetSchema[R any](cols []column[R]) (*schema.GroupNode, error) {
	fields := make(schema.FieldList, len(cols))
	for i, c := range cols {
		node, err := parquetNode(c.Name, c.Type)
		if err != nil {
			return nil, err
		}
		fields[i] = node
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
}

func parquetNode(name string, t ColumnType) (schema.Node, error) {
	opt := parquet.Repetitions.Optional
	switch t {
	case Double:
		return schema.NewFloat64Node(name, opt, -1), nil
	case Bool:
		return schema.NewBooleanNode(name, opt, -1), nil
	case String:
		return schema.NewPrimitiveNodeLogical(name, opt, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)
	case Timestamp:
		return schema.NewPrimitiveNodeLogical(name, opt, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, 0, -1)
	case Strings:
		element, err := schema.NewPrimitiveNodeLogical("element", parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)
		if err != nil {
			return nil, err
		}
		return schema.ListOfWithName(name, element, opt, -1)
	}
	return schema.NewPrimitiveNodeLogical(name, opt, schema.NewIntLogicalType(64, true), parquet.Types.Int64, 0, -1)
}

// fileMetadata says in a file what it is: the versions it follows, the
// session, and its Arrow schema with units and rules.
func fileMetadata[R any](table string, cols []column[R], p partition) (metadata.KeyValueMetadata, error) {
	kv := metadata.NewKeyValueMetadata()
	for _, m := range [][2]string{
		{"tokwatt.schema_version", strconv.Itoa(SchemaVersion)},
		{"tokwatt.formula_version", strconv.Itoa(FormulaVersion)},
		{"tokwatt.table", table},
		{"tokwatt.session_id", p.session},
		{"tokwatt.host", validUTF8(p.host)},
		{"tokwatt.date", p.date},
	} {
		if m[1] == "" { // of several sessions
			continue
		}
		if err := kv.Append(m[0], m[1]); err != nil {
			return nil, err
		}
	}
	arrowForm, err := serialized(arrowSchema(cols))
	if err != nil {
		return nil, err
	}
	return kv, kv.Append("ARROW:schema", arrowForm)
}

// serialized is an Arrow schema as readers of Parquet look for it: an IPC
// stream without records, in base64.
func serialized(s *arrow.Schema) (string, error) {
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(s)).Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

var arrowTypes = map[ColumnType]arrow.DataType{
	Int64:     arrow.PrimitiveTypes.Int64,
	Double:    arrow.PrimitiveTypes.Float64,
	Bool:      arrow.FixedWidthTypes.Boolean,
	String:    arrow.BinaryTypes.String,
	Strings:   arrow.ListOfNonNullable(arrow.BinaryTypes.String),
	Timestamp: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// arrowSchema is the Arrow form of a declaration. Units and rules go with the
// fields, so that whoever opens a file finds them.
func arrowSchema[R any](cols []column[R]) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		var keys, values []string
		if c.Unit != "" {
			keys, values = append(keys, "unit"), append(values, c.Unit)
		}
		if c.Doc != "" {
			keys, values = append(keys, "rule"), append(values, c.Doc)
		}
		fields[i] = arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: true,
			Metadata: arrow.NewMetadata(keys, values)}
	}
	return arrow.NewSchema(fields, nil)
}
