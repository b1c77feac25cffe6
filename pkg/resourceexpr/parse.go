package resourceexpr

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Bounds of what a user may write: the work for one expression stays small. An expression is parsed in requests of users, and
// by recursion.
const (
	maxLength = 1024
	maxDepth  = 50
)

// node is a part of an expression. A part that is a plain number is constant: the variable is a quantity, and no operation makes
// a number of it.
type node struct {
	// quantity is true for an amount of a resource, and false for a number. It is the type of the part, by which mistakes are
	// found.
	quantity bool
	// constant is true if the part contains no variable.
	constant bool
	// eval computes the part. The result must not be changed, because it can be that of a constant.
	eval func(variable *big.Rat) *big.Rat
}

// value returns the value of a constant. It must not be called for other parts.
func (n *node) value() *big.Rat { return n.eval(nil) }

// parser reads words from left to right. It is a recursive descent parser: sum, product and operand are the ranks of operators.
type parser struct {
	// variable is the name of the variable, in lower case.
	variable string
	// words are those that are left, and depth is the number of brackets around them.
	words []token
	depth int
}

// Parse reads an expression over one variable, cpu or memory. The error says what is wrong with it, for the user. A constant that
// is negative is refused here; another expression can only be judged with a value of its variable.
func Parse(text, variable string) (*Expression, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the expression has %d characters; at most %d are allowed", len(text), maxLength)
	}
	words, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{variable: variable, words: words}
	root, err := p.sum()
	if err != nil {
		return nil, err
	}
	if len(p.words) > 0 {
		return nil, fmt.Errorf("unexpected %q", p.words[0].text)
	}
	if root.constant && root.value().Sign() < 0 {
		return nil, errNegative
	}
	return &Expression{root: root}, nil
}

// errNegative is the one mistake that can depend on the variable.
var errNegative = errors.New("the value is negative")

// next takes the next word when it is one of those. It returns false, and takes nothing, if it is another one, a value, or the
// end.
func (p *parser) next(signs ...string) (string, bool) {
	if len(p.words) == 0 || p.words[0].value != nil {
		return "", false
	}
	for _, sign := range signs {
		if p.words[0].text == sign {
			p.words = p.words[1:]
			return sign, true
		}
	}
	return "", false
}

// sum reads products with + and - between them.
func (p *parser) sum() (*node, error) {
	return p.chain((*parser).product, add, "+", "-")
}

// product reads operands with * and / between them, which bind more strongly.
func (p *parser) product() (*node, error) {
	return p.chain((*parser).operand, multiply, "*", "/")
}

// chain reads operands with signs of one rank between them, from left to right: a - b - c is (a - b) - c.
func (p *parser) chain(
	operand func(*parser) (*node, error), combine func(sign string, left, right *node) (*node, error), signs ...string,
) (*node, error) {
	left, err := operand(p)
	for err == nil {
		sign, found := p.next(signs...)
		if !found {
			return left, nil
		}
		var right *node
		if right, err = operand(p); err == nil {
			left, err = combine(sign, left, right)
		}
	}
	return nil, err
}

// operand reads a value, a variable, a call of max or min, or an expression in brackets. Only here does the parser go deeper,
// so only here is the depth limited.
func (p *parser) operand() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d nested brackets", maxDepth)
	}
	defer func() { p.depth-- }()
	if len(p.words) == 0 {
		return nil, errors.New("the expression ends where a value is expected")
	}
	word := p.words[0]
	p.words = p.words[1:]
	if word.value != nil {
		value := word.value
		return &node{quantity: word.quantity, constant: true, eval: func(*big.Rat) *big.Rat { return value }}, nil
	}
	// Names are read in any case.
	switch name := strings.ToLower(word.text); name {
	case p.variable:
		return &node{quantity: true, eval: func(variable *big.Rat) *big.Rat { return variable }}, nil
	case "max", "min":
		return p.choice(name)
	case "(":
		inner, err := p.sum()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	default:
		return nil, fmt.Errorf("%q is not a value; use a number, a percentage, a quantity, %s, max(a, b) or min(a, b)", word.text, p.variable)
	}
}

// choice reads the two arguments of max or min.
func (p *parser) choice(name string) (*node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, fmt.Errorf("%s takes two values: %w", name, err)
	}
	right, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, fmt.Errorf("%s takes two values: %w", name, err)
	}
	// The sign of the comparison for which the first argument is chosen.
	want := map[string]int{"max": 1, "min": -1}[name]
	return joined(left, right, func(a, b *big.Rat) *big.Rat {
		if a.Cmp(b) == want {
			return a
		}
		return b
	}), nil
}

// expect takes a sign, or returns an error that says what is there instead.
func (p *parser) expect(sign string) error {
	if _, found := p.next(sign); found {
		return nil
	}
	if len(p.words) == 0 {
		return fmt.Errorf("%q is missing at the end", sign)
	}
	return fmt.Errorf("found %q where %q is expected", p.words[0].text, sign)
}

// add returns the part for a sum or a difference. A number added to a quantity counts as an amount.
func add(sign string, left, right *node) (*node, error) {
	if sign == "+" {
		return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }), nil
	}
	return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }), nil
}

// multiply returns the part for a product or a quotient. The square of a quantity means nothing, so it is refused, as is a
// division by a quantity. The divisor is a number then, and so a constant: a division by zero is always found by Parse.
func multiply(sign string, left, right *node) (*node, error) {
	switch {
	case sign == "*" && left.quantity && right.quantity:
		return nil, errors.New("cannot multiply two quantities; make one of them a number or a percentage")
	case sign == "*":
		return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }), nil
	case right.quantity:
		return nil, errors.New("cannot divide by a quantity; divide by a number")
	case right.value().Sign() == 0:
		return nil, errors.New("division by zero")
	default:
		return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }), nil
	}
}

// joined returns the part that combines two others. It is a quantity if one of them is, and constant if both are.
func joined(left, right *node, combine func(a, b *big.Rat) *big.Rat) *node {
	return &node{
		quantity: left.quantity || right.quantity, constant: left.constant && right.constant,
		eval: func(variable *big.Rat) *big.Rat { return combine(left.eval(variable), right.eval(variable)) },
	}
}
