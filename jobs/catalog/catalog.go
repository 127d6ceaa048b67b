// Package catalog loads the catalog of services and plans from its YAML file, checks it, and answers
// questions about a plan's parameters and about answers.
//
// A loaded [Catalog] never changes and is safe for concurrent use.
//
// # The file
//
//	services:
//	  - id: postgres                  # as in the API: ^[a-z][a-z0-9-]{0,62}$
//	    name: PostgreSQL database
//	    description: A database of its own.
//	    driver: postgres
//	    config:                       # the driver's
//	      admin_url: "${PROVISIOND_POSTGRES_ADMIN_URL}"
//	    plans:
//	      - id: small
//	        name: Small
//	        description: For trying things out.
//	        price: { amount: "5.00", currency: USD, per: month }   # or hour, or once
//	        confirm_cost: true        # ask before anything is made
//	        confirm_destroy: false    # let agents delete it without asking a person
//	        updates_to: [large]       # the plans that an instance may change to
//	        expiry: { default: 168h, max: 720h, warning: 24h }     # of an instance; warning as here if left out
//	        check_every: 24h          # hold instances against what exists; only when asked if left out
//	        deadline: 10m             # of a job
//	        question_expiry: 1h
//	        parameters:               # JSON Schema 2020-12; other parameters are refused
//	          properties:
//	            region: { type: string, enum: [eu, us], title: Region }
//	            size: { type: integer, default: 1, x-mutable: true }   # an update may change it
//	            token: { type: string, writeOnly: true, x-answerable-by: person }
//	          required: [region]      # asked in this order where the start does not give them
//	        settings:                 # the driver's
//	          connection_limit: 20
//
// Required are id, name, driver and plans of a service, and id and name of a plan.
// A writeOnly parameter is a secret. A question for a parameter with x-answerable-by "person" takes no
// agent's answer. A required parameter without a default must be one that [CheckFlatSchema] allows.
//
// In strings, but not in keys, ${NAME} and ${NAME:-default} stand for environment variables and $$ for
// a dollar. The result is always a string.
package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/provisiond/provisiond/provider"
)

// Catalog is all that can be provisioned.
type Catalog struct {
	// Services are sorted by ID.
	Services []Service
	// ETag is a strong entity tag, in its quotes, over all that users see of the catalog.
	ETag string
}

// Service is an offering of the catalog: one back end, in some plans.
type Service struct {
	ID, Name, Description string
	DriverName            string
	// Simulated services make nothing real: their driver is the sandbox.
	Simulated bool
	// Config is the driver's. It may hold secrets.
	Config json.RawMessage
	Driver provider.Driver
	// Plans are in the file's order.
	Plans []Plan
}

// Price is what a plan costs.
type Price struct {
	// Amount is a decimal number, such as "5.00".
	Amount string `json:"amount"`
	// Currency is an ISO 4217 code, such as "USD".
	Currency string `json:"currency"`
	// Per is "month", "hour" or "once".
	Per string `json:"per"`
}

// Expiry is how long a plan's instances live. Zero durations set nothing.
type Expiry struct {
	// Default is for starts that ask for none.
	Default time.Duration
	// Max bounds what may be asked for; with it every instance has an end.
	Max time.Duration
	// Warning is how long before the end it is announced; a day by default.
	Warning time.Duration
}

// Plan is one way to have a service.
type Plan struct {
	ID, Name, Description string
	// Price is nil where the plan is free.
	Price *Price
	// ConfirmCost makes the price a question of its own; see [Plan.CostQuestion].
	ConfirmCost bool
	// DestroyUnasked lets agents delete instances that hold data without a person's confirmation; see
	// [Plan.DestroyQuestion].
	DestroyUnasked bool
	// Parameters is the JSON Schema (2020-12) of the parameters, an object without additional
	// properties.
	Parameters json.RawMessage
	// Settings are the driver's. They may hold secrets.
	Settings json.RawMessage
	// UpdatesTo are the IDs of the service's plans that an instance of this one may change to.
	UpdatesTo []string
	// Expiry bounds the life of an instance.
	Expiry Expiry
	// CheckEvery is how often instances are held against what exists; 0 is only when asked.
	CheckEvery time.Duration
	// Deadline and QuestionExpiry are 0 where the server's default holds.
	Deadline, QuestionExpiry time.Duration
	// Version changes with what a quote binds: the price, the parameters and the settings.
	Version string

	serviceName string
	schema      *jsonschema.Schema // without required
	properties  map[string]property
	required    []string
	defaults    json.RawMessage // an object with the values of all parameters that have one
}

// Service returns the service with the ID.
func (c *Catalog) Service(id string) (*Service, bool) {
	i, found := slices.BinarySearchFunc(c.Services, id, func(s Service, id string) int {
		return strings.Compare(s.ID, id)
	})
	if !found {
		return nil, false
	}
	return &c.Services[i], true
}

// Plan returns the service's plan with the ID.
func (s *Service) Plan(id string) (*Plan, bool) {
	i := slices.IndexFunc(s.Plans, func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return nil, false
	}
	return &s.Plans[i], true
}
