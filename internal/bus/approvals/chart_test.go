package approvals_test

import (
	"reflect"
	"testing"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/testkit/schematest"
)

// Helm refuses a misspelt field of the chart's value "approvals" before a broker does.
func TestTheChartTakesTheFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	schematest.ChartTakes(t, "../../../charts/askbus/values.schema.json", "approvals", reflect.TypeFor[approvals.File]())
}
