package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func init() {
	commands["prints"] = prints
}

// prints records what Go writes for texts, floats and durations, and what it takes characters for.
func prints([]string) error {
	var corpus struct {
		Texts     []string `json:"texts"`
		Floats    []string `json:"floats"`
		Bits      int      `json:"random floats"`
		Durations []int64  `json:"durations"`
	}
	if err := load("prints/corpus.json", &corpus); err != nil {
		return err
	}
	var records []record
	for at, text := range corpus.Texts {
		records = append(records, record{}.
			with("id", fmt.Sprintf("quoted/%d", at+1)).
			with("text", text).with("quoted", fmt.Sprintf("%q", text)).with("json", marshalled(text)))
	}
	floats := corpus.Floats
	for at := range corpus.Bits {
		floats = append(floats, strconv.FormatFloat(random(uint64(at)), 'x', -1, 64))
	}
	for at, text := range floats {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		records = append(records, record{}.
			with("id", fmt.Sprintf("float/%d", at+1)).with("float", text).
			with("bits", strconv.FormatUint(math.Float64bits(value), 16)).
			with("plain", fmt.Sprintf("%v", value)).with("json", marshalled(value)))
	}
	for at, length := range corpus.Durations {
		records = append(records, record{}.
			with("id", fmt.Sprintf("duration/%d", at+1)).
			with("nanoseconds", int(length)).with("plain", time.Duration(length).String()))
	}
	records = append(records,
		ranges("assigned", func(c rune) bool {
			return unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z,
				unicode.Cc, unicode.Cf, unicode.Co)
		}),
		ranges("printable", unicode.IsPrint),
		ranges("space", unicode.IsSpace),
		ranges("word", func(c rune) bool {
			return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c)
		}),
		mapping("upper", strings.ToUpper),
		mapping("lower", strings.ToLower),
	)
	fmt.Printf("%d prints\n", len(records))
	return save("prints.json", records)
}

func marshalled(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// random is a float of any size: the bits of a counter, stirred.
func random(at uint64) float64 {
	bits := (at + 1) * 0x9e3779b97f4a7c15
	bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
	bits = (bits ^ bits>>27) * 0x94d049bb133111eb
	value := math.Float64frombits(bits ^ bits>>31)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return float64(at)
	}
	return value
}

// ranges are the characters of a kind: first and last of each run.
func ranges(id string, is func(rune) bool) record {
	runs := []any{}
	start := rune(-1)
	for c := rune(0); c <= unicode.MaxRune+1; c++ {
		in := c <= unicode.MaxRune && utf8.ValidRune(c) && is(c)
		if in && start < 0 {
			start = c
		}
		if !in && start >= 0 {
			runs = append(runs, []any{int(start), int(c - 1)})
			start = -1
		}
	}
	return record{}.with("id", id).with("ranges", runs)
}

// mapping is every character that changes, followed by what it becomes.
func mapping(id string, change func(string) string) record {
	var changed strings.Builder
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if text := string(c); utf8.ValidRune(c) && change(text) != text {
			changed.WriteString(text + change(text))
		}
	}
	return record{}.with("id", id).with("pairs", changed.String())
}
