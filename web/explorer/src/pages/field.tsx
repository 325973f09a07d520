// A form for a value of any type of a contract's ABI.
import type { AbiForm, AbiType } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { partsOf, type Parts } from "../field";
import { chainText } from "../format";

interface Of {
  /** its name in the contract */
  name: string;
  type: string;
  /** its name in the form */
  path: string;
  abi: AbiForm;
}

const Called = ({ name, type }: { name: string; type: string }): JSX.Element => (
  <>
    {chainText(name)} <span class="type">{chainText(type, 24)}</span>
  </>
);

/** example is a sample of a plain value. */
function example(type: string): string {
  if (type.endsWith("[]")) return `${example(type.slice(0, -2)) || "a"}, …`;
  if (/^[ui]\d/.test(type)) return "0";
  if (type === "account") return "address, key or dev1";
  if (/^bytes/.test(type)) return "0x…";
  return type === "hash" ? "0x and 64 digits" : type === "string" ? "" : "JSON";
}

/** Field is the input for a value of a type: one text, or a field for each part. */
export function Field({ name, type, path, abi }: Of): JSX.Element {
  const parts = partsOf(type, abi);
  if (parts.kind !== "text")
    return (
      <fieldset>
        <legend>
          <Called name={name} type={type} />
        </legend>
        <Inside of={parts} name={name} path={path} abi={abi} />
      </fieldset>
    );
  return (
    <label>
      <span>
        <Called name={name} type={type} />
      </span>
      {type === "bool" ? (
        <select name={path}>
          <option value="false">false</option>
          <option value="true">true</option>
        </select>
      ) : (
        <input name={path} placeholder={example(type)} autocomplete="off" spellcheck={false} />
      )}
    </label>
  );
}

type Nested<T> = { of: T; name: string; path: string; abi: AbiForm };

function Inside({ of, ...rest }: Nested<Exclude<Parts, { kind: "text" }>>): JSX.Element {
  switch (of.kind) {
    case "optional":
      return <Optional of={of} {...rest} />;
    case "list":
      return <List of={of} {...rest} />;
    case "tuple":
      return (
        <>
          {of.items.map((type, i) => (
            <Field key={i} name={String(i + 1)} type={type} path={`${rest.path}.${i}`} abi={rest.abi} />
          ))}
        </>
      );
    case "named":
      return of.type.kind === "enum" ? <Variant of={of} {...rest} /> : <Members fields={of.type.fields ?? []} {...rest} />;
  }
}

function Members({ fields, path, abi }: { fields: readonly { name: string; type: string }[]; path: string; abi: AbiForm }): JSX.Element {
  return (
    <>
      {fields.map(({ name, type }, i) => (
        <Field key={i} name={name} type={type} path={`${path}.${i}`} abi={abi} />
      ))}
    </>
  );
}

function Optional({ of, name, path, abi }: Nested<{ of: string }>): JSX.Element {
  const [given, give] = useState(false);
  return (
    <>
      <label class="tick">
        <input type="checkbox" name={path} checked={given} onChange={(e) => give(e.currentTarget.checked)} /> give one
      </label>
      {given && <Field name={name} type={of.of} path={`${path}.0`} abi={abi} />}
    </>
  );
}

function List({ of, name, path, abi }: Nested<{ of: string }>): JSX.Element {
  const [items, setItems] = useState<{ keys: readonly number[]; next: number }>({ keys: [], next: 0 });
  return (
    <>
      {items.keys.map((key, i) => (
        <div key={key} class="item">
          <input type="hidden" name={path} value={key} />
          <Field name={`${name} ${i + 1}`} type={of.of} path={`${path}.${key}`} abi={abi} />
          <button
            type="button"
            aria-label={`Remove ${chainText(name)} ${i + 1}`}
            onClick={() => setItems({ ...items, keys: items.keys.filter((other) => other !== key) })}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" onClick={() => setItems({ keys: [...items.keys, items.next], next: items.next + 1 })}>
        Add one
      </button>
    </>
  );
}

function Variant({ of, name, path, abi }: Nested<{ type: AbiType }>): JSX.Element {
  const [at, setAt] = useState(0);
  const variants = of.type.variants ?? [];
  return (
    <>
      <select name={path} aria-label={chainText(name)} value={String(at)} onChange={(e) => setAt(Number(e.currentTarget.value))}>
        {variants.map((variant, i) => (
          <option key={i} value={String(i)}>
            {chainText(variant.name)}
          </option>
        ))}
      </select>
      <Members key={at} fields={variants[at]?.fields ?? []} path={path} abi={abi} />
    </>
  );
}
