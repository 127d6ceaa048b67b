// Command gen writes mcpfacade/schemas.gen.json, the input and output schemas of the MCP tools, from
// openapi.yaml. Run it in the root of the repository: go run ./mcpfacade/internal/gen
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

const (
	contractFile = "openapi.yaml"
	schemasFile  = "mcpfacade/schemas.gen.json"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	contract, err := os.ReadFile(contractFile)
	if err != nil {
		return err
	}
	schemas, err := generate(contract)
	if err != nil {
		return err
	}
	return os.WriteFile(schemasFile, schemas, 0o644) //nolint:gosec // A source file, for all to read.
}

// toolSchemas is what the facade reads of one tool.
type toolSchemas struct {
	Input  schema `json:"input"`
	Output schema `json:"output"`
}

// generate returns the schemas of all tools by name. encoding/json sorts the keys, so the same
// contract gives the same bytes.
func generate(contract []byte) ([]byte, error) {
	var doc document
	if err := yaml.Unmarshal(contract, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", contractFile, err)
	}
	all := make(map[string]toolSchemas, len(tools))
	for _, t := range tools {
		input, err := doc.input(t)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		output, err := doc.output(t)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		all[t.name] = toolSchemas{Input: input, Output: output}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(all); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
