//! Reads the weights of an encoder from an ONNX graph.
//!
//! Biases, norms and embeddings have their usual names. The weights of a matrix often have none, so they are found from
//! their bias: the addition that takes the bias also takes the product with the weights. Weights may be numbers of 8
//! bits with scales, in the forms of the common tools.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::protobuf::{Field, fields, numbers};
use super::tensors::{Numbers, Scale, Tensor};
use crate::error::{ModelError, Result};

/// The number of operations between a matrix and the operation that uses it.
const DEPTH_MAX: usize = 8;
/// The endings of the names of weights of 8 bits.
const QUANTISED: [&str; 2] = ["_quantized", "_q"];

struct Graph<'a> {
    tensors: BTreeMap<&'a str, Tensor<'a>>,
    nodes: Vec<Node<'a>>,
    /// The operation that has an output of this name.
    makers: BTreeMap<&'a str, usize>,
}

#[derive(Default)]
struct Node<'a> {
    kind: &'a str,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
    /// Whether a `Gemm` turns its matrix.
    turns: bool,
    /// The side whose parts `DequantizeLinear` gives a scale each.
    axis: Option<u64>,
    constant: Option<Tensor<'a>>,
}

/// Returns the tensors by the names of their modules.
pub(super) fn tensors(bytes: &[u8]) -> Result<Vec<(String, Tensor<'_>)>> {
    let graph = Graph::read(bytes)?;
    let mut found = Vec::new();
    for (name, tensor) in &graph.tensors {
        let plain = QUANTISED.iter().find_map(|ending| name.strip_suffix(ending));
        match plain {
            Some(plain) => found.push((plain.to_owned(), graph.weights(name, DEPTH_MAX)?)),
            None => found.push(((*name).to_owned(), tensor.clone())),
        }
    }
    for node in &graph.nodes {
        if node.kind == "Gemm"
            && let [_, weights, bias] = node.inputs[..]
            && let Some(module) = bias.strip_suffix(".bias")
        {
            let mut tensor = graph.weights(weights, DEPTH_MAX)?;
            tensor.is_turned ^= !node.turns;
            found.push((format!("{module}.weight"), tensor));
        }
        let [a, b] = node.inputs[..] else { continue };
        if node.kind != "Add" {
            continue;
        }
        for (bias, product) in [(a, b), (b, a)] {
            let Some(module) = bias
                .strip_suffix(".bias")
                .filter(|_| graph.tensors.contains_key(bias))
            else {
                continue;
            };
            if let Some(tensor) = graph.product(product, DEPTH_MAX)? {
                found.push((format!("{module}.weight"), tensor));
            }
        }
    }
    Ok(found)
}

impl<'a> Graph<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut graph = Self {
            tensors: BTreeMap::new(),
            nodes: Vec::new(),
            makers: BTreeMap::new(),
        };
        let body = fields(bytes)?.into_iter().find_map(|field| match field {
            (7, Field::Bytes(body)) => Some(body),
            _ => None,
        });
        let body = body.ok_or_else(|| ModelError::damaged("onnx: there is no graph"))?;
        for field in fields(body)? {
            match field {
                (1, Field::Bytes(message)) => graph.nodes.push(Node::read(message)?),
                (5, Field::Bytes(message)) => {
                    if let (name, Some(tensor)) = tensor(message)? {
                        graph.tensors.insert(name, tensor);
                    }
                }
                _ => {}
            }
        }
        for (number, node) in graph.nodes.iter_mut().enumerate() {
            for output in &node.outputs {
                graph.makers.insert(output, number);
            }
            if let (Some(constant), Some(name)) = (node.constant.take(), node.outputs.first()) {
                graph.tensors.insert(name, constant);
            }
        }
        Ok(graph)
    }

    fn maker(&self, name: &str) -> Option<&Node<'a>> {
        self.makers.get(name).map(|number| &self.nodes[*number])
    }

    /// Returns the weights with which the value `name` was multiplied, if it is a product.
    fn product(&self, name: &str, depth: usize) -> Result<Option<Tensor<'a>>> {
        let Some(node) = self.maker(name).filter(|_| depth > 0) else {
            return Ok(None);
        };
        match (node.kind, &node.inputs[..]) {
            ("MatMul" | "MatMulInteger", [_, weights, ..]) => {
                let mut tensor = self.weights(weights, DEPTH_MAX)?;
                tensor.is_turned ^= true;
                Ok(Some(tensor))
            }
            // The result of integers becomes a number, and gets the two scales.
            ("Cast" | "Mul" | "Identity", [inner, ..]) => self.product(inner, depth - 1),
            _ => Ok(None),
        }
    }

    /// Returns the weights of this name.
    fn weights(&self, name: &str, depth: usize) -> Result<Tensor<'a>> {
        if let Some(tensor) = self.tensors.get(name) {
            let mut tensor = tensor.clone();
            if matches!(tensor.numbers, Numbers::I8 | Numbers::U8) && tensor.scale.is_none() {
                let plain = QUANTISED.iter().find_map(|ending| name.strip_suffix(ending));
                let part = |ending: &str| {
                    let name = format!("{}{ending}", plain.unwrap_or(name));
                    self.tensors.get(name.as_str())
                };
                tensor.scale =
                    part("_scale").map(|factors| Rc::new(scale(&tensor, factors, part("_zero_point"), None)));
            }
            return Ok(tensor);
        }
        let unknown = |what: &str| {
            let text = format!("the weights {name} of the graph come from {what}");
            Err(ModelError::Unsupported(text))
        };
        let Some(node) = self.maker(name).filter(|_| depth > 0) else {
            return unknown("no tensor");
        };
        match (node.kind, &node.inputs[..]) {
            ("Identity" | "Cast", [inner]) => self.weights(inner, depth - 1),
            ("Transpose", [inner]) => {
                let mut tensor = self.weights(inner, depth - 1)?;
                tensor.is_turned ^= true;
                Ok(tensor)
            }
            ("DequantizeLinear" | "Mul", [inner, factors, rest @ ..]) => {
                let mut tensor = self.weights(inner, depth - 1)?;
                let Some(factors) = self.tensors.get(factors) else {
                    return unknown("a product without a constant");
                };
                let zeros = rest.first().and_then(|zeros| self.tensors.get(zeros));
                tensor.scale = Some(Rc::new(scale(&tensor, factors, zeros, node.axis)));
                Ok(tensor)
            }
            (kind, _) => unknown(&format!("an operation {kind}")),
        }
    }
}

impl<'a> Node<'a> {
    fn read(message: &'a [u8]) -> Result<Self> {
        let mut node = Self::default();
        for field in fields(message)? {
            match field {
                (1, Field::Bytes(name)) => node.inputs.push(text(name)?),
                (2, Field::Bytes(name)) => node.outputs.push(text(name)?),
                (4, Field::Bytes(name)) => node.kind = text(name)?,
                (5, Field::Bytes(attribute)) => node.take_attribute(attribute)?,
                _ => {}
            }
        }
        Ok(node)
    }

    fn take_attribute(&mut self, message: &'a [u8]) -> Result<()> {
        let mut name = "";
        for field in fields(message)? {
            match field {
                (1, Field::Bytes(bytes)) => name = text(bytes)?,
                (3, Field::Number(number)) if name == "transB" => self.turns = number == 1,
                (3, Field::Number(number)) if name == "axis" => self.axis = Some(number),
                (5, Field::Bytes(message)) if name == "value" => self.constant = tensor(message)?.1,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the scale of a tensor. Factors with a last side of 1, or along the first axis, belong to rows.
fn scale<'a>(
    tensor: &Tensor<'a>,
    factors: &Tensor<'a>,
    zeros: Option<&Tensor<'a>>,
    axis: Option<u64>,
) -> Scale<'a> {
    let is_by_row = match (&factors.shape[..], &tensor.shape[..]) {
        ([rows, 1], [own, _]) => rows == own,
        ([rows], [own, _]) => axis == Some(0) && rows == own,
        _ => false,
    };
    Scale {
        factors: factors.clone(),
        zeros: zeros.cloned(),
        is_by_row,
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| ModelError::damaged("onnx: a name is not UTF-8"))
}

/// Returns a tensor with its name, if it has numbers of a useful type.
fn tensor(message: &[u8]) -> Result<(&str, Option<Tensor<'_>>)> {
    let (mut name, mut kind, mut shape, mut bytes) = ("", 0, Vec::new(), Cow::Borrowed(&[][..]));
    for field in fields(message)? {
        match field {
            (1, Field::Number(side)) => shape.push(side),
            (1, Field::Bytes(packed)) => shape.extend(numbers(packed)?),
            (2, Field::Number(number)) => kind = number,
            (4 | 9, Field::Bytes(raw)) => match &mut bytes {
                // Numbers that are not packed come one by one.
                Cow::Borrowed([]) => bytes = Cow::Borrowed(raw),
                bytes => bytes.to_mut().extend_from_slice(raw),
            },
            (8, Field::Bytes(bytes)) => name = text(bytes)?,
            (13, _) => {
                let text = "the numbers of the ONNX graph are in another file".to_owned();
                return Err(ModelError::Unsupported(text));
            }
            _ => {}
        }
    }
    let numbers = match kind {
        1 => Numbers::F32,
        2 => Numbers::U8,
        3 => Numbers::I8,
        10 => Numbers::F16,
        16 => Numbers::Bf16,
        _ => return Ok((name, None)),
    };
    let shape = shape
        .into_iter()
        .map(|side| usize::try_from(side).unwrap_or(usize::MAX))
        .collect();
    let tensor = Tensor {
        numbers,
        shape,
        bytes: Rc::new(bytes),
        scale: None,
        is_turned: false,
    };
    Ok((name, tensor.is_whole().then_some(tensor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes fields of bytes, each shorter than 128.
    fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
        let encode = |(number, bytes): &(u8, &[u8])| [&[number << 3 | 2, bytes.len() as u8], *bytes].concat();
        fields.iter().flat_map(encode).collect()
    }

    fn node(kind: &str, inputs: [&str; 2], output: &str) -> Vec<u8> {
        message(&[
            (1, inputs[0].as_bytes()),
            (1, inputs[1].as_bytes()),
            (2, output.as_bytes()),
            (4, kind.as_bytes()),
        ])
    }

    /// INVARIANT CNV-1: a graph that names one matrix many times costs the memory of one.
    #[test]
    fn a_matrix_that_is_named_twice_is_kept_once() {
        // Two rows of numbers of 8 bits (type 3) in two pieces, so the reader owns their sum.
        let kind = |number: u8| [2 << 3, number];
        let matrix = message(&[(1, &[2, 2]), (9, &[1, 2]), (9, &[3, 4]), (8, b"w")]);
        let matrix = [&kind(3)[..], &matrix].concat();
        let bias = |name: &str| {
            let tensor = message(&[(1, &[1]), (9, &[0; 4]), (8, name.as_bytes())]);
            [&kind(1)[..], &tensor].concat()
        };
        let graph = message(&[
            (1, &node("MatMul", ["x", "w"], "p")),
            (1, &node("Add", ["p", "a.bias"], "q")),
            (1, &node("Add", ["p", "b.bias"], "r")),
            (5, &matrix),
            (5, &bias("a.bias")),
            (5, &bias("b.bias")),
        ]);
        let mut file = vec![7 << 3 | 2, graph.len() as u8 | 128, (graph.len() >> 7) as u8];
        file.extend(graph);
        let found: BTreeMap<_, _> = tensors(&file).unwrap().into_iter().collect();
        let (a, b) = (&found["a.weight"], &found["b.weight"]);
        assert_eq!(a.values(), [1.0, 3.0, 2.0, 4.0]);
        assert!(Rc::ptr_eq(&a.bytes, &b.bytes));
    }
}
