import { useEffect } from "preact/hooks";
import { isSignedOut, verifyAddress } from "../accounts.ts";
import { openedAddress } from "../opened-links.ts";
import { showError, showInfo } from "../ui/toast.tsx";

/** Uses the link that verifies an e-mail address. If the session has ended, this happens again after the next sign-in. */
export function AddressCheck({ token }: { token: string }) {
  useEffect(() => {
    verifyAddress(token).then(
      () => {
        openedAddress.forget();
        showInfo("Your e-mail address is verified.");
      },
      (error: unknown) => {
        if (isSignedOut(error)) return;
        openedAddress.forget();
        showError("Your e-mail address was not verified", error);
      },
    );
  }, [token]);
  return null;
}
