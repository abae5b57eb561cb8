package exchange_test

import (
	"reflect"
	"testing"

	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/testkit/schematest"
)

// Helm refuses a misspelt field of the chart's value "issuer.rules" before an issuer does.
func TestTheChartTakesTheFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	schematest.ChartTakes(t, "../../../charts/askbus/values.schema.json", "issuer.rules", reflect.TypeFor[exchange.Rules]())
}
