import { useEffect, useState } from "preact/hooks";
import { answerProgram, answerDevice, type AskingProgram, readDevice, readProgram } from "../accounts.ts";
import { messageOf } from "../api.ts";
import { replace, route } from "../route.ts";
import { boards } from "../session.ts";
import { Form, type FieldSpec, type Typed } from "../ui/form.tsx";
import { Loading, Problem } from "../ui/parts.tsx";
import { optionOf } from "../ui/select.tsx";
import { attempt } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";

interface Rights {
  access: "read" | "write";
  board_ids: readonly string[] | null;
}

function fieldsFor({ writes }: AskingProgram): FieldSpec[] {
  const options = (boards.value ?? []).map(optionOf);
  return [
    ...(writes
      ? [
          {
            name: "access",
            label: "It may",
            kind: "choice" as const,
            options: [
              ["write", "read and write"],
              ["read", "only read"],
            ] as const,
          },
        ]
      : []),
    {
      name: "which",
      label: "On",
      kind: "choice",
      options: [
        ["all", "all boards that you may see"],
        ["some", "only these boards"],
      ],
    },
    { name: "board_ids", label: "Boards", kind: "many", options, isShown: ({ which }) => which === "some" },
  ];
}

function toRights({ writes }: AskingProgram, { access, which, board_ids }: Typed): Rights {
  return {
    access: writes && access === "write" ? "write" : "read",
    board_ids: which === "some" ? (board_ids as readonly string[]) : null,
  };
}

interface AskProps {
  program: AskingProgram;
  onAgree: (rights: Rights) => Promise<void>;
  onRefuse: () => Promise<void>;
}

/** Asks whether the person agrees, and what the program may do. */
function Ask({ program, onAgree, onRefuse }: AskProps) {
  const { name, client_id, target, code, signsIn } = program;
  return (
    <main class="view">
      <h1>
        Connect <span dir="auto">{name}</span>?
      </h1>
      <p>
        {signsIn
          ? "The command line asks to sign in as you, with all your rights. Agree only if you have just started it yourself."
          : "The program asks to work on your boards in your name, with no more rights than yours. Agree only if you have just started it yourself."}
      </p>
      <dl class="details">
        {code && (
          <>
            <dt>Code that it shows</dt>
            <dd>
              <code>{code}</code>
            </dd>
          </>
        )}
        {!signsIn && (
          <>
            <dt>Identity</dt>
            <dd>
              {URL.canParse(client_id) ? new URL(client_id).host : "not verified: the name is what the program says of itself"}
            </dd>
          </>
        )}
        {target && (
          <>
            <dt>Afterwards you get to</dt>
            <dd>{target}</dd>
          </>
        )}
      </dl>
      <Form
        name={`consent.${client_id}`}
        fields={signsIn ? [] : fieldsFor(program)}
        start={{ access: "write", which: "all", board_ids: [] }}
        label="Connect"
        submit={(typed) => onAgree(toRights(program, typed))}
      >
        <button type="button" onClick={() => attempt("The answer was not sent", onRefuse)}>
          Refuse
        </button>
      </Form>
    </main>
  );
}

/** Reads which program asks for access, again only if `key` changes. An answer about an earlier key is ignored. */
function useProgram(read: (() => Promise<AskingProgram>) | null, key: unknown) {
  const [answer, setAnswer] = useState<{ key: unknown; program: AskingProgram | null; error: string | null } | null>(null);
  useEffect(() => {
    let isOver = false;
    read?.().then(
      (program) => isOver || setAnswer({ key, program, error: null }),
      (reason: unknown) => isOver || setAnswer({ key, program: null, error: messageOf(reason) }),
    );
    return () => {
      isOver = true;
    };
  }, [key]);
  return answer && answer.key === key ? answer : { program: null, error: null };
}

/** Shows the page to which an MCP client sends its user. The client's request is signed, so the page sends it back unchanged. */
export function ConnectPage() {
  const request = location.hash.slice("#connect?".length);
  const { program, error } = useProgram(() => readProgram(request), request);
  const answer = async (accept: boolean, rights?: Rights) => {
    const target = await answerProgram(request, accept, rights);
    // A program on this machine may use its own scheme, such as `editor:`, but the address must not run code in this page.
    if (/^(?:javascript|data|blob|vbscript):/i.test(target)) throw new Error("The program has no address to return to.");
    location.assign(target);
  };
  if (!program) return error ? <Problem error={error} /> : <Loading what="the program" />;
  return <Ask program={program} onAgree={(rights) => answer(true, rights)} onRefuse={() => answer(false)} />;
}

/** Shows the page on which a person types the code that a device shows. */
export function DevicePage() {
  /** An object, so that the same code can be typed again after a failure. */
  const [typed, setTyped] = useState({ code: route.value.query.get("user_code") ?? "" });
  const { code } = typed;
  const [done, setDone] = useState<string | null>(null);
  const { program, error } = useProgram(code ? () => readDevice(code) : null, typed);
  // The code is removed from the address, because the browser stores addresses in its history.
  useEffect(() => replace("#device"), []);
  if (done)
    return (
      <main class="view">
        <p role="status">{done}</p>
      </main>
    );
  if (code && !program && !error) return <Loading what="the device" />;
  if (!program)
    return (
      <main class="view">
        <h1>Connect a device</h1>
        <Problem error={error} />
        <Form
          name="device"
          fields={[{ name: "code", label: "Code that the device shows" }]}
          start={{ code: "" }}
          label="Continue"
          focusFirst
          submit={async (values) => setTyped({ code: textOf(values, "code").trim() })}
        />
      </main>
    );
  const answer = async (accept: boolean, rights?: Rights) => {
    await answerDevice(code, accept, rights);
    setDone(accept ? "The device is connected. You can close this page." : "The device was refused. You can close this page.");
  };
  return <Ask program={program} onAgree={(rights) => answer(true, rights)} onRefuse={() => answer(false)} />;
}
