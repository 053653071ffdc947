// Command oracle asks the engine that Kargo uses what expressions give, and records the answers.
//
// Each subcommand is one file here that adds itself to commands.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// A command reads its corpus and writes its results; README.md says which files.
type command func(arguments []string) error

var commands = map[string]command{}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) > 0 {
		if chosen, known := commands[arguments[0]]; known {
			return chosen(arguments[1:])
		}
	}
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	return fmt.Errorf("say which corpus: %s", strings.Join(names, ", "))
}
