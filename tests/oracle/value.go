package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// decode reads a corpus' value as Go holds it: a number written with a point or an exponent is a
// float64, any other an int ({"$int": "..."} where JSON readers differ); {"$float": "NaN"}, {"$bytes": base64}, {"$duration": "1h"},
// {"$time": RFC 3339}, {"$texts": {...}} (a map[string]string) and {"$raw": base64} (a string of
// any bytes) are what JSON cannot say.
func decode(raw json.RawMessage) (any, error) {
	reader := json.NewDecoder(bytes.NewReader(raw))
	reader.UseNumber()
	var parsed any
	if err := reader.Decode(&parsed); err != nil {
		return nil, err
	}
	return typed(parsed)
}

func typed(parsed any) (any, error) {
	switch value := parsed.(type) {
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return value.Float64()
		}
		whole, err := strconv.Atoi(value.String())
		return whole, err
	case []any:
		items := make([]any, len(value))
		for at, item := range value {
			made, err := typed(item)
			if err != nil {
				return nil, err
			}
			items[at] = made
		}
		return items, nil
	case map[string]any:
		if len(value) == 1 {
			for key, inner := range value {
				if strings.HasPrefix(key, "$") {
					return special(key, inner)
				}
			}
		}
		entries := make(map[string]any, len(value))
		for key, inner := range value {
			made, err := typed(inner)
			if err != nil {
				return nil, err
			}
			entries[key] = made
		}
		return entries, nil
	default:
		return parsed, nil
	}
}

func special(key string, inner any) (any, error) {
	if key == "$texts" {
		texts := map[string]string{}
		for name, text := range inner.(map[string]any) {
			texts[name] = text.(string)
		}
		return texts, nil
	}
	text, _ := inner.(string)
	switch key {
	case "$int":
		return strconv.Atoi(text)
	case "$float":
		return strconv.ParseFloat(text, 64)
	case "$bytes":
		return base64.StdEncoding.DecodeString(text)
	case "$raw":
		raw, err := base64.StdEncoding.DecodeString(text)
		return string(raw), err
	case "$duration":
		return time.ParseDuration(text)
	case "$time":
		return time.Parse(time.RFC3339Nano, text)
	}
	return nil, fmt.Errorf("no such value: %s", key)
}

// kind is the result's type in the words of `eval -o json`.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "nil"
	case time.Time:
		return "time"
	case time.Duration:
		return "duration"
	case []byte:
		return "bytes"
	}
	switch reflect.TypeOf(value).Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.Int:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Map:
		return "map"
	}
	return reflect.TypeOf(value).String()
}

// encode writes a value so that decode, or its counterpart in Rust, reads the same one.
func encode(out *bytes.Buffer, value any) {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
		return
	case time.Time:
		tagged(out, "$time", value.String())
		return
	case time.Duration:
		tagged(out, "$duration", value.String())
		return
	case *time.Location:
		tagged(out, "$zone", value.String())
		return
	case []byte:
		tagged(out, "$bytes", base64.StdEncoding.EncodeToString(value))
		return
	case string:
		text(out, value)
		return
	case float64:
		out.WriteString(float(value))
		return
	}
	reflected := reflect.ValueOf(value)
	switch reflected.Kind() {
	case reflect.Slice, reflect.Array:
		if reflected.Kind() == reflect.Slice && reflected.IsNil() {
			tagged(out, "$nil", reflected.Type().String())
			return
		}
		out.WriteByte('[')
		for at := range reflected.Len() {
			if at > 0 {
				out.WriteString(", ")
			}
			encode(out, reflected.Index(at).Interface())
		}
		out.WriteByte(']')
	case reflect.Map:
		entries(out, reflected)
	case reflect.Pointer, reflect.Struct, reflect.Func, reflect.Chan:
		tagged(out, "$go", reflected.Type().String())
	default:
		plain(out, value)
	}
}

func entries(out *bytes.Buffer, reflected reflect.Value) {
	named := reflected.Type().Key().Kind() == reflect.String
	pairs := make([]string, 0, reflected.Len())
	for _, key := range reflected.MapKeys() {
		var pair bytes.Buffer
		if named {
			text(&pair, key.String())
			pair.WriteString(": ")
		} else {
			pair.WriteByte('[')
			encode(&pair, key.Interface())
			pair.WriteString(", ")
		}
		encode(&pair, reflected.MapIndex(key).Interface())
		if !named {
			pair.WriteByte(']')
		}
		pairs = append(pairs, pair.String())
	}
	sort.Strings(pairs)
	joined := strings.Join(pairs, ", ")
	if named {
		out.WriteString("{" + joined + "}")
	} else {
		out.WriteString(`{"$pairs": [` + joined + "]}")
	}
}

func text(out *bytes.Buffer, value string) {
	if utf8.ValidString(value) {
		plain(out, value)
	} else {
		tagged(out, "$raw", base64.StdEncoding.EncodeToString([]byte(value)))
	}
}

func tagged(out *bytes.Buffer, tag, value string) {
	out.WriteString(`{"` + tag + `": `)
	plain(out, value)
	out.WriteByte('}')
}

func plain(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		tagged(out, "$go", reflect.TypeOf(value).String())
		return
	}
	out.Truncate(out.Len() - 1)
}

// float keeps a point or an exponent, so that it is read as a float again.
func float(value float64) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return `{"$float": "` + strconv.FormatFloat(value, 'g', -1, 64) + `"}`
	}
	written := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(written, ".e") {
		written += ".0"
	}
	return written
}

// record is one line of a results file: fields in order, each already JSON.
type record []field

type field struct{ name, json string }

func (r record) with(name string, value any) record {
	var out bytes.Buffer
	encode(&out, value)
	return append(r, field{name, out.String()})
}

// save writes a JSON list with a record per line: small differences stay small in version control.
func save(path string, records []record) error {
	var out bytes.Buffer
	out.WriteString("[\n")
	for at, record := range records {
		out.WriteByte('{')
		for position, field := range record {
			if position > 0 {
				out.WriteString(", ")
			}
			plain(&out, field.name)
			out.WriteString(": " + field.json)
		}
		out.WriteByte('}')
		if at < len(records)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]\n")
	return os.WriteFile(path, out.Bytes(), 0o644)
}
