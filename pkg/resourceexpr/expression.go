package resourceexpr

import (
	"fmt"
	"math/big"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Expression is an expression that Parse has read. It does not change, so it can be used concurrently.
type Expression struct {
	root *node
}

// Value computes the expression for that amount of its variable, truncated to thousandths. The computation itself is exact. The
// error says that the value is negative, or too large for a quantity.
func (e *Expression) Value(amount resource.Quantity) (resource.Quantity, error) {
	value := e.root.eval(rational(amount))
	if value.Sign() < 0 {
		return resource.Quantity{}, errNegative
	}
	milli := new(big.Rat).Mul(value, big.NewRat(1000, 1))
	quotient := new(big.Int).Quo(milli.Num(), milli.Denom())
	// A quantity stores thousandths as an int64. A larger value, for example of memory, is stored in whole units.
	if quotient.IsInt64() {
		return *resource.NewMilliQuantity(quotient.Int64(), resource.DecimalSI), nil
	}
	if quotient.Quo(quotient, big.NewInt(1000)); quotient.IsInt64() {
		return *resource.NewQuantity(quotient.Int64(), resource.DecimalSI), nil
	}
	return resource.Quantity{}, fmt.Errorf("the value %s is too large", value.FloatString(0))
}
