package mcpfacade

import (
	"encoding/json"
	"fmt"

	"github.com/provisiond/provisiond/client"
)

// maxList bounds a page, in bytes of JSON: a model's context is small, and the page is sent twice.
const maxList = 10 << 10

// page reads a page that fits. One that is too large is read again with as many items as fit, so that its
// cursor leads to the rest; it is marked, and has one item at the least.
func (c *call) page(read func(limit *client.Limit) (json.RawMessage, *client.NextCursor, error), otherwise string) (*answer, error) {
	limit := c.args.number("limit", defaultLimit)
	body, next, err := read(&limit)
	if err != nil {
		return nil, err
	}
	fits, all := itemsThatFit(body)
	if fits >= all {
		return &answer{body: body, nextStep: afterList(next, otherwise)}, nil
	}
	if body, next, err = read(&fits); err != nil {
		return nil, err
	}
	if body, err = marked(body); err != nil {
		return nil, err
	}
	return &answer{body: body, nextStep: fmt.Sprintf("The page was too large and is truncated to %d of %d. ", fits, all) + afterList(next, otherwise)}, nil
}

// itemsThatFit counts the first items of a list that are not over maxList together, and all.
func itemsThatFit(body json.RawMessage) (fits, all int) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(body, &list) != nil {
		return 0, 0
	}
	size := 0
	for i, item := range list.Items {
		if size += len(item); i > 0 && size > maxList {
			return i, len(list.Items)
		}
	}
	return len(list.Items), len(list.Items)
}

// marked is a list with the mark that it was cut.
func marked(body json.RawMessage) (json.RawMessage, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	list["truncated"] = json.RawMessage("true")
	return json.Marshal(list)
}
