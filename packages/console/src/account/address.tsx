import { askForVerification } from "../accounts.ts";
import { attempt, showInfo } from "../ui/toast.tsx";
import type { Account } from "./account-data.ts";

/** Says whether the person's e-mail address is verified, and offers to verify it. Only a service that sends mail can do that. */
export function AddressState({ account }: { account: Account }) {
  const { email, isVerified, canMail } = account;
  if (!email || isVerified || !canMail) return null;
  const send = () =>
    attempt("The link was not sent", async () => {
      await askForVerification();
      showInfo(`A link is on its way to ${email}. Open it where you are signed in.`);
    });
  return (
    <div class="form-actions">
      <span class="muted grow">The address is not verified yet, so nothing is sent to it.</span>
      <button type="button" onClick={send}>
        Verify the address
      </button>
    </div>
  );
}
