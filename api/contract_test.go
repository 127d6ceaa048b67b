package api

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond"
	"github.com/provisiond/provisiond/jobs"
)

func loadDoc(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(provisiond.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryOperationNeedsAScopeOrIsPublic(t *testing.T) {
	t.Parallel()
	c, err := loadContract(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var public []string
	for path, item := range loadDoc(t).Paths.Map() {
		for method, op := range item.Operations() {
			o := c.operation(method, echoPath(path))
			switch {
			case o == nil:
				t.Errorf("%s %s is not in the contract", method, path)
			case o.scope == "":
				public = append(public, path)
			case !slices.Contains(jobs.AllScopes(), o.scope):
				t.Errorf("%s: there is no scope %s", op.OperationID, o.scope)
			case !strings.Contains(strings.Join(strings.Fields(op.Description), " "), "Needs scope `"+o.scope+"`"):
				t.Errorf("%s: the description does not name the scope", op.OperationID)
			}
		}
	}
	slices.Sort(public)
	if diff := cmp.Diff([]string{"/health/live", "/health/ready"}, public); diff != "" {
		t.Errorf("public operations: %s", diff)
	}
}

// The table of codes in openapi.yaml is what clients program against.
func TestCodesAreAsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string][]int{}
	row := regexp.MustCompile(`(?m)^\| (\d{3}) \| (.*) \|$`)
	code := regexp.MustCompile("`([a-z_]+)`( \\(|,|$)")
	for _, r := range row.FindAllStringSubmatch(loadDoc(t).Info.Description, -1) {
		status, err := strconv.Atoi(r[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range code.FindAllStringSubmatch(r[2], -1) {
			documented[c[1]] = append(documented[c[1]], status)
		}
	}
	want := map[string][]int{
		string(codeMethodNotAllowed):     {http.StatusMethodNotAllowed},
		string(codeBodyTooLarge):         {http.StatusRequestEntityTooLarge},
		string(codeUnsupportedMediaType): {http.StatusUnsupportedMediaType},
		string(codeInternal):             {http.StatusInternalServerError},
	}
	for c, status := range statuses {
		want[string(c)] = append(want[string(c)], status)
	}
	want[string(jobs.InvalidRequest)] = []int{http.StatusBadRequest, http.StatusUnprocessableEntity}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Error(diff)
	}
}
