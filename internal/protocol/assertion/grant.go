package assertion

// Grant is the content of a verified JWT.
type Grant struct {
	Scope      string // the scope of the key that signed it
	Type       string // its tags, as far as it has them
	Tenant     string
	Session    string
	Assertions Set
}
