#!/usr/bin/env node
// Writes lib/generated.cts, the types of all inputs and answers and the methods of all verbs, from the schemas that the
// native module has.
//
// node generate.mjs            write the file
// node generate.mjs --check    fail if the file is not current
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FILE = fileURLToPath(new URL("lib/generated.cts", import.meta.url));
const native = createRequire(import.meta.url)(process.env.TREERING_NATIVE ?? "./treering.node");
const { verbs, inputs, answers, own } = JSON.parse(native.schemas());

/** The classes of the methods, each with the class below it. */
const CLASSES = { Store: "Handle", Memory: "StoreVerbs", Agent: "StoreVerbs", View: "Handle", Draft: "Handle", Remote: "Handle" };
const HEAD = `// The types of all inputs and answers, and the methods of all verbs. generate.mjs writes this file.
import { Handle, type CallOptions, module as call } from "./calls.cjs";
import type { Draft, View } from "./handles.cjs";

/** A time: a \`Date\`, or a text in RFC 3339. Answers have texts, because a \`Date\` has no microseconds. */
export type Time = Date | string;
/** One text or several. */
export type Texts = string | readonly string[];
/** A state: a snapshot by name, \`"@-3"\`, \`"seq:7"\`, \`"fork:NAME"\`, a digest, a time, or a view. */
export type Revision = string | Date | View;
/** Attributes with their values. A float that JSON cannot express is \`{ $float: "nan" }\` in an answer. */
export type Attributes = Readonly<Record<string, unknown>>;
/** A class of trust. \`untrusted\` means \`tool_external\`. */
export type Trust = Origin | "untrusted";
/** What a staged put does. */
export type Staged = "created" | "updated" | "unchanged";
/** The scope of a new item, and the scopes that a call reads; null means all. */
export interface Scopes {
  scope: string;
  scopes: string[] | null;
}
`;

/** One set of definitions, with the names under which they are written. */
class Types {
  constructor(schemas, isInput) {
    this.definitions = schemas.$defs;
    this.isInput = isInput;
    this.names = new Map(Object.entries(schemas.classes ?? {}).map(([name, schema]) => [target(schema), name]));
    this.written = new Map();
  }

  /** Returns the name of the type of a definition, and writes the type. */
  nameOf(definition) {
    const name = this.names.get(definition) ?? definition;
    if (!this.written.has(name)) {
      this.written.set(name, "");
      const schema = this.definitions[definition];
      const about = comment(schema.description, "");
      const body = schema.properties
        ? `export interface ${name} ${this.body(schema)}`
        : `export type ${name} = ${this.type(schema)};`;
      this.written.set(name, `${about}${body}\n`);
    }
    return name;
  }

  /** Returns the fields of an object. */
  body(schema, without = []) {
    const properties = Object.entries(schema.properties ?? {});
    const marks = new Set(properties.map(([name]) => name).filter((name) => name.startsWith("$")));
    const isReplaced = (name) => marks.has(`$${name}`) || (marks.has("$commit") && (name === "root" || name === "seq"));
    const lines = properties
      .filter(([name]) => !isReplaced(name) && !without.includes(name))
      .map(([name, field]) => {
        const isOptional = !(schema.required ?? []).includes(name);
        const type = this.type(field) + (isOptional ? " | undefined" : "");
        return `${comment(field.description, "  ")}  ${name.replace(/^\$/, "")}${isOptional ? "?" : ""}: ${type};\n`;
      });
    return `{\n${lines.join("")}}`;
  }

  type(schema) {
    if (schema === true || Object.keys(schema).length === 0) return "unknown";
    if (schema["x-ts"]) return schema["x-ts"];
    if (schema["x-python"]) return this.ofPython(schema["x-python"]);
    if (schema.$ref) return this.ofDefinition(target(schema));
    if (schema.allOf?.length === 1) return this.type(schema.allOf[0]);
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    const some = schema.anyOf ?? schema.oneOf;
    if (some) return [...new Set(some.map((one) => this.type(one)))].join(" | ");
    const types = [schema.type ?? "unknown"].flat().map((type) => this.plain(type, schema));
    return types.join(" | ");
  }

  /** Returns the name of a definition, or the type itself if its name would say nothing more. */
  ofDefinition(definition) {
    const schema = this.definitions[definition];
    const isNamed = schema.properties || schema.enum || schema.oneOf || schema.anyOf;
    return isNamed ? this.nameOf(definition) : this.type(schema);
  }

  plain(type, schema) {
    if (type === "integer") return "number";
    if (type === "array") return wrapped(this.type(schema.items ?? true));
    if (type !== "object") return type;
    if (schema.properties) return this.body(schema);
    return `Record<string, ${this.type(schema.additionalProperties ?? true)}>`;
  }

  /** Returns the type of a field whose value is native in Python. */
  ofPython(text) {
    return text
      .replace(/Table\[(\w+)\]/g, "$1[]")
      .replace(/\bObject\b/g, "StoredObject")
      .replace("Any", "unknown")
      .replace("None", "null");
  }

  text() {
    return [...this.written.values()].join("\n");
  }
}

function wrapped(type) {
  return type.includes(" | ") ? `(${type})[]` : `${type}[]`;
}

function target(schema) {
  return (schema.$ref ?? schema.allOf?.[0]?.$ref ?? "").split("/").pop();
}

/** Returns a text of Rust's documentation as a comment. */
function comment(text, indent) {
  if (!text) return "";
  const plain = text
    .replace(/\[(`[^`]+`)\](\([^)]*\))?/g, "$1")
    .replace(/`(?:\w+::)+(\w+)`/g, "`$1`")
    .replace(/`None`/g, "null")
    .replace(/\bNull\b/g, "null");
  const lines = plain.split("\n").map((line) => line.trim());
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

const capital = (name) => name[0].toUpperCase() + name.slice(1);
const ofInputs = new Types(inputs, true);
const ofAnswers = new Types(answers, false);
const ofOwn = new Types(own, false);
for (const schema of Object.values(answers.classes)) ofAnswers.nameOf(target(schema));
ofInputs.nameOf("Writer");
ofInputs.nameOf("Entry");

/** Returns a method with its type of options. */
function method(verb) {
  const schema = inputs.$defs[target(verb.input)] ?? verb.input;
  const first = verb.arguments === "" ? [] : verb.arguments.split(", ");
  const names = first.map((one) => one.replace(/\?| \| null/, ""));
  const typed = first.map((one, index) => {
    const [argument, other] = one.split(" | ");
    return `${argument}: ${ofInputs.type(schema.properties[names[index]])}${other ? ` | ${other}` : ""}`;
  });
  const rest = Object.keys(schema.properties ?? {}).filter((name) => !names.includes(name));
  const prefix = ["View", "Draft", "Remote"].includes(verb.class) ? verb.class : "";
  const options = rest.length ? `${prefix}${capital(verb.name)}Options` : "CallOptions";
  const type = rest.length ? `export interface ${options} extends CallOptions ${ofInputs.body(schema, names)}\n` : "";
  const isNeeded = rest.some((name) => (schema.required ?? []).includes(name));
  const parameters = [...typed, `options${isNeeded ? "" : "?"}: ${options}`].join(", ");
  const given = names.length ? `{ ${names.join(", ")} }` : "{}";
  if (verb.class === "module") {
    const about = comment(verb.about, "");
    const code = `${about}export function ${verb.name}(${parameters}): Promise<${verb.answer}> {
  return call("${verb.name}", ${given}, options);
}
`;
    return { options, type, code };
  }
  const about = comment(verb.about, "  ");
  const code = `${about}  ${verb.name}(${parameters}): Promise<${verb.answer}> {
    return this._call("${verb.class}", "${verb.name}", ${given}, options);
  }
`;
  return { options, type, code };
}

const shown = verbs.filter((verb) => verb.answer !== "");
const methods = shown.map((verb) => ({ verb, ...method(verb) }));
/** The types of options of the methods that are written by hand. */
const byHand = verbs.filter((verb) => verb.answer === "").map(method);
const types = new Map([...methods, ...byHand].map(({ options, type }) => [options, type]));
types.delete("CallOptions");
const ofAgent = `export interface OfAgent ${ofInputs.body(inputs.$defs.OfAgent)}\n`;
const classes = Object.entries(CLASSES).map(([name, base]) => {
  const code = methods.filter(({ verb }) => verb.class === name).map(({ code }) => code);
  return `/** The verbs of the class \`${name}\`. */\nexport abstract class ${name}Verbs extends ${base} {\n${code.join("\n")}}\n`;
});
const ofModule = methods.filter(({ verb }) => verb.class === "module").map(({ code }) => code);
ofOwn.nameOf(target(own.classes.StoredObject));
ofOwn.nameOf(target(own.classes.Committed));
const known = new Set([...ofAnswers.written.keys()]);
const mine = [...ofOwn.written].filter(([name]) => !known.has(name)).map(([, text]) => text);
const text = [HEAD, ofAnswers.text(), ...mine, ofInputs.text(), ofAgent, ...types.values(), ...classes, ...ofModule].join("\n");

if (!process.argv.includes("--check")) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, "utf8") !== text) {
  console.error(`${FILE} is not current: write it with node generate.mjs`);
  process.exit(1);
}
