import { ConnectionError } from "@board/client/error";
import { useState } from "preact/hooks";
import { isStatus } from "../api.ts";
import { openedInvite } from "../opened-links.ts";
import { joinOrganization } from "../session.ts";
import { Dialog } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";

async function join(token: string): Promise<void> {
  try {
    await joinOrganization(token);
  } catch (error) {
    if (isStatus(error, 404)) throw new Error("The invite was used or removed. Ask for a new one.");
    throw error;
  }
}

/** Asks a signed-in person who has opened the link of an invite whether to join, because any web page can lead to such a link. */
export function OfferedInvite({ token }: { token: string }) {
  const [isBusy, setBusy] = useState(false);
  const accept = async () => {
    setBusy(true);
    let isRefused = false;
    const act = () =>
      join(token).catch((error: unknown) => {
        isRefused = !(error instanceof ConnectionError);
        throw error;
      });
    // An invite that could not be sent can be sent again.
    if ((await attempt("You did not join", act)) || isRefused) openedInvite.forget();
    setBusy(false);
  };
  return (
    <Dialog title="Join by this invite?" onClose={() => openedInvite.forget()}>
      <p>You become a member of the organization that invited you, and work in it from then on. You stay in your others.</p>
      <div class="actions">
        <button type="button" class="primary" disabled={isBusy} onClick={accept}>
          Join
        </button>
        <button type="button" disabled={isBusy} onClick={() => openedInvite.forget()}>
          Not now
        </button>
      </div>
    </Dialog>
  );
}
