//go:build interop

package mcpfacade

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addPrompts adds prompts of each kind of content, and one that asks.
func addPrompts(server *mcp.Server) {
	addPrompt := func(name string, content func(arguments map[string]string) mcp.Content, arguments ...string) {
		prompt := &mcp.Prompt{Name: name, Description: forTheSuite}
		for _, argument := range arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: argument, Required: true})
		}
		server.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompts(content(req.Params.Arguments)), nil
		})
	}
	addPrompt("test_simple_prompt", func(map[string]string) mcp.Content { return &mcp.TextContent{Text: "simple"} })
	addPrompt("test_prompt_with_image", func(map[string]string) mcp.Content { return picture })
	addPrompt("test_prompt_with_arguments", func(given map[string]string) mcp.Content {
		return &mcp.TextContent{Text: fmt.Sprintf("%s and %s", given["arg1"], given["arg2"])}
	}, "arg1", "arg2")
	addPrompt("test_prompt_with_embedded_resource", func(given map[string]string) mcp.Content {
		return embedded(given["resourceUri"])
	}, "resourceUri")

	server.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: forTheSuite},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			given, ok := accepted(req.Params.InputResponses, "user_context")["context"].(string)
			if !ok {
				return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": askContext}}, nil
			}
			return prompts(&mcp.TextContent{Text: given}), nil
		})
}

func prompts(content mcp.Content) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content}}}
}

// complete knows no completions.
func complete(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
}
