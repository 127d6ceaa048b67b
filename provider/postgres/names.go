package postgres

import (
	"regexp"

	"github.com/provisiond/provisiond/provider"
)

var (
	instanceID = regexp.MustCompile(`^inst_([0-9a-z]{26})$`)
	bindingID  = regexp.MustCompile(`^bind_([0-9a-z]{26})$`)
)

// names are those of an instance's own objects.
type names struct {
	// owner is the name of the owner role, and of the database.
	owner string
	// marker is the comment on the owner role.
	marker string
}

// login is a binding's role.
type login struct {
	name string
	// marker is the comment on the role.
	marker string
}

// bindingMarker comes between an instance's marker and a binding's ID.
const bindingMarker = " binding "

func namesOf(r *provider.Request) (names, error) {
	id := instanceID.FindStringSubmatch(r.InstanceID)
	if id == nil {
		return names{}, rejected("The instance ID is not of its form.", nil)
	}
	return names{owner: "prov_" + id[1], marker: "provisiond instance " + r.InstanceID}, nil
}

func (n names) login(r *provider.Request) (login, error) {
	id := bindingID.FindStringSubmatch(r.BindingID)
	if id == nil {
		return login{}, rejected("The binding ID is not of its form.", nil)
	}
	return login{name: "prov_u_" + id[1], marker: n.marker + bindingMarker + r.BindingID}, nil
}
