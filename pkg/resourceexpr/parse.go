package resourceexpr

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Bounds of what a user may write: the work for one expression stays small.
const (
	maxLength = 1024
	maxDepth  = 50
)

// node is a part of an expression. A part that is a plain number is constant: variables are
// quantities, and no operation makes a number of them.
type node struct {
	quantity bool
	constant bool
	eval     func(variables map[string]*big.Rat) *big.Rat
}

// value is the value of a constant.
func (n *node) value() *big.Rat { return n.eval(nil) }

// parser reads words from left to right.
type parser struct {
	words []token
	depth int
}

// Parse reads an expression. The error says what is wrong with it.
func Parse(text string) (*Expression, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the expression has %d characters; at most %d are allowed", len(text), maxLength)
	}
	words, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{words: words}
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

var errNegative = errors.New("the value is negative")

// next takes the next word when it is one of those.
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

func (p *parser) sum() (*node, error) {
	return p.chain((*parser).product, add, "+", "-")
}

func (p *parser) product() (*node, error) {
	return p.chain((*parser).operand, multiply, "*", "/")
}

// chain reads operands with signs of one rank between them.
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
		return &node{quantity: word.quantity, constant: true, eval: func(map[string]*big.Rat) *big.Rat { return value }}, nil
	}
	switch name := strings.ToLower(word.text); name {
	case "cpu", "memory":
		return &node{quantity: true, eval: func(variables map[string]*big.Rat) *big.Rat { return variables[name] }}, nil
	case "max", "min":
		return p.choice(name)
	case "(":
		inner, err := p.sum()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	default:
		return nil, fmt.Errorf("%q is not a value; use a number, a percentage, a quantity, cpu, memory, max(a, b) or min(a, b)", word.text)
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
	want := map[string]int{"max": 1, "min": -1}[name]
	return joined(left, right, func(a, b *big.Rat) *big.Rat {
		if a.Cmp(b) == want {
			return a
		}
		return b
	}), nil
}

func (p *parser) expect(sign string) error {
	if _, found := p.next(sign); found {
		return nil
	}
	if len(p.words) == 0 {
		return fmt.Errorf("%q is missing at the end", sign)
	}
	return fmt.Errorf("found %q where %q is expected", p.words[0].text, sign)
}

func add(sign string, left, right *node) (*node, error) {
	if sign == "+" {
		return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }), nil
	}
	return joined(left, right, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }), nil
}

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

func joined(left, right *node, combine func(a, b *big.Rat) *big.Rat) *node {
	return &node{
		quantity: left.quantity || right.quantity, constant: left.constant && right.constant,
		eval: func(variables map[string]*big.Rat) *big.Rat {
			return combine(left.eval(variables), right.eval(variables))
		},
	}
}
