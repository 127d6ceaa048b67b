package pages

// SignIn asks for a person's key, or leads to an issuer.
type SignIn struct {
	// Return is the path to go on to.
	Return string
	// Error says what is wrong with the key that was given; "" at first.
	Error string
	// Issuer is the host where people can sign in, too; "" for none.
	Issuer string
	// Refused says why signing in there failed; "" at first.
	Refused string
	// KeyID is who is signed in already with a key, and Subject who is by the issuer; "" for nobody.
	KeyID, Subject string
}

// Hop is a page between: a browser that comes from another site keeps the cookie back, and brings it
// with the next request.
type Hop struct{ To string }

// Message says one thing, such as that there is nothing here.
type Message struct {
	Heading string
	Text    string
	// Faults lists what is wrong with the request, where that is known.
	Faults []string
	// RequestID helps an operator to find what went wrong; "" where there is nothing to find.
	RequestID string
}

// About says who wants what.
type About struct {
	// Who is the key that started the job, such as "the agent key builder".
	Who string
	// What is what the job does, such as "Provision PostgreSQL database, plan Small".
	What string
	// Instance is the name that the instance was given; "" for none.
	Instance string
	JobID    string
	// MayWatch is whether the person may see the job's page.
	MayWatch bool
	// Price is what the plan costs; "" where it is free.
	Price string
}

// Answer asks a question.
type Answer struct {
	About

	Question string
	Secret   bool
	Expires  Moment
	// OnExpiry says what happens if nobody answers.
	OnExpiry string
	Fields   []Field
	// Faults lists what is wrong with the answer that was given.
	Faults []Fault
}

// Fault is one thing wrong with an answer. FieldID is "" where it is about no field that is shown.
type Fault struct {
	FieldID string
	Text    string
}

// FieldKind is how a field is shown.
type FieldKind string

// The kinds of field. Radios, Select and Checkboxes have choices, the others a value.
const (
	Text       FieldKind = "text"
	TextArea   FieldKind = "textarea"
	Email      FieldKind = "email"
	URL        FieldKind = "url"
	Date       FieldKind = "date"
	DateTime   FieldKind = "datetime"
	Number     FieldKind = "number"
	Integer    FieldKind = "integer"
	Password   FieldKind = "password"
	Radios     FieldKind = "radios"
	Select     FieldKind = "select"
	Checkboxes FieldKind = "checkboxes"
)

// Field is one field of a question.
type Field struct {
	// ID is the field's name in the form and its ID in the page.
	ID       string
	Kind     FieldKind
	Label    string
	Hint     string
	Required bool
	Value    string
	Choices  []Choice
	// Fault says what is wrong with the value that was given; "" for nothing.
	Fault string
}

// ControlID is what a link to the field leads to: the control, or the first one of several.
func (f *Field) ControlID() string {
	if f.Kind == Radios || f.Kind == Checkboxes {
		return f.ID + "-0"
	}
	return f.ID
}

// Choice is one of the values to choose from.
type Choice struct {
	Value    string
	Label    string
	Selected bool
}

// Closed says that a question takes no answer, and why.
type Closed struct {
	About

	Question string
	Heading  string
	Text     string
	// Open lists the questions that the job still asks.
	Open []Link
}

// Link leads to another page.
type Link struct {
	ID   string
	Path string
	Text string
	// Note is shown beside it.
	Note string
}

// Job shows a job.
type Job struct {
	About

	// ETag is of the job's version, to ask for the next.
	ETag string
	// Title is the page's title, which changes with the job.
	Title string
	// State is the job's state in words, and Mood its name for the style.
	State string
	Mood  string
	// Message is what the job does just now.
	Message string
	// Working shows a progress bar; without a Percent one that only moves.
	Working bool
	Percent *int
	Final   bool
	// Failure is why the job failed; "" where it did not.
	Failure   string
	Leftovers []string
	Questions []Link
	Started   Moment
	Finished  *Moment
	Deadline  Moment
	History   []Line
	// More is whether there is older history than is shown.
	More bool
}

// Line is one line of a job's history.
type Line struct {
	At   Moment
	Text string
	Who  string
}

func (SignIn) template() string  { return "signin" }
func (Hop) template() string     { return "hop" }
func (Message) template() string { return "message" }
func (Answer) template() string  { return "answer" }
func (Closed) template() string  { return "closed" }
func (Job) template() string     { return "job" }
