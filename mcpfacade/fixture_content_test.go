//go:build interop

package mcpfacade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Files of the smallest kind: one pixel and no sound.
var (
	picture = &mcp.ImageContent{MIMEType: "image/png", Data: pixel()}
	sound   = &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF\x24\x00\x00\x00WAVE" +
		"fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00" +
		"data\x00\x00\x00\x00")}
)

func pixel() []byte {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return file.Bytes()
}

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "embedded"}}
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// forTheSuite is a description, which it wants of all there is.
const forTheSuite = "For the conformance suite."

var anything = json.RawMessage(`{"type":"object"}`)

// addPlain adds a tool that takes what it is given.
func addPlain(server *mcp.Server, name string, handler mcp.ToolHandler) {
	server.AddTool(&mcp.Tool{Name: name, Description: forTheSuite, InputSchema: anything}, handler)
}

// addContentTools adds tools that answer at once.
func addContentTools(server *mcp.Server) {
	text := &mcp.TextContent{Text: "text"}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {text},
		"test_image_content":          {picture},
		"test_audio_content":          {sound},
		"test_embedded_resource":      {embedded("test://embedded")},
		"test_multiple_content_types": {text, picture, embedded("test://embedded")},
		"test_streaming_elicitation":  {text},
	} {
		addPlain(server, name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	addPlain(server, "test_error_handling", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := says("it failed")
		result.IsError = true
		return result, nil
	})
	addPlain(server, "greet", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var given struct{ Name string }
		err := json.Unmarshal(req.Params.Arguments, &given)
		return says("Hello, " + given.Name + "!"), err
	})
	addPlain(server, "test_tool_with_progress", progresses)
	addPlain(server, "test_tool_with_logging", logs)
	addPlain(server, "test_logging_tool", logs)
}

func progresses(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var errs []error
	for _, done := range []float64{0, 50, 100} {
		errs = append(errs, req.Session.NotifyProgress(ctx,
			&mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: done, Total: 100}))
	}
	return says("done"), errors.Join(errs...)
}

func logs(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var errs []error
	for _, what := range []string{"begins", "works", "ends"} {
		errs = append(errs, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: what}))
	}
	return says("logged"), errors.Join(errs...)
}

// addSchemaTools adds tools whose schemas have what the product's have not.
func addSchemaTools(server *mcp.Server) {
	takes := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says("taken"), nil }
	server.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: forTheSuite, InputSchema: json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]},
		"else": {"required": ["email"]},
		"additionalProperties": false}`)}, takes)
	server.AddTool(&mcp.Tool{Name: "test_x_mcp_header", Description: forTheSuite, InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}`)}, takes)
}
