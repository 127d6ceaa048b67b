// Package pages renders the pages for people: signing in, answering a question, watching a job. It
// holds their templates, style and script, and what each of them shows; it knows nothing of HTTP or
// of jobs.
package pages

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
)

//go:embed templates
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// Asset is a file that the pages load.
type Asset struct {
	ContentType string
	Content     []byte
}

var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// Icon is the asset that browsers show beside a page's title.
const Icon = "icon.svg"

// Assets returns the files that the pages load, by name. They are served at /assets/.
func Assets() (map[string]Asset, error) {
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	assets := make(map[string]Asset, len(entries))
	for _, entry := range entries {
		content, err := assetFiles.ReadFile(path.Join("assets", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		assets[entry.Name()] = Asset{contentTypes[path.Ext(entry.Name())], content}
	}
	return assets, nil
}

// A Page is a whole page: one of the views below in the frame that all share.
type Page struct {
	Title string
	// SignedIn shows the button to sign out.
	SignedIn bool
	// Refresh, where not 0, reloads the page after so many seconds in browsers without JavaScript.
	Refresh int
	Body    View
}

// View is what a page shows; the types in views.go.
type View interface {
	// template names the file that shows the view.
	template() string
}

// frame has what all pages share; each view's file adds its "body".
var frame = template.Must(template.New("frame").Funcs(template.FuncMap{"iso": iso, "clock": clock}).
	ParseFS(templateFiles, "templates/frame.html", "templates/parts.html"))

var templates = map[string]*template.Template{
	"signin":  parse("signin"),
	"hop":     parse("hop"),
	"answer":  parse("answer"),
	"closed":  parse("closed"),
	"job":     parse("job"),
	"message": parse("message"),
}

func parse(name string) *template.Template {
	return template.Must(template.Must(frame.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
}

// Render writes a page.
func Render(w io.Writer, p Page) error {
	if err := templates[p.Body.template()].ExecuteTemplate(w, "frame", p); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	return nil
}

// RenderBody writes a view without the frame, to be put in the place of an older one.
func RenderBody(w io.Writer, v View) error {
	if err := templates[v.template()].ExecuteTemplate(w, "live", v); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	return nil
}
