import { Fault } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { HttpLoan, RequestToSign } from "../lent.ts";
import { readAwsKeys, wipeAwsKeys } from "./keys.ts";
import { signForAws } from "./sign.ts";

/** The long-lived key signs the request for one of a session, and stays. */
export function signAssumeRole(
  request: RequestToSign,
  region: string,
  key: Secret,
): Pick<HttpLoan, "headerName" | "headerValue" | "further"> {
  const keys = key.use(readAwsKeys);
  if (keys === undefined) throw new Fault("a sealed secret that is no access key");
  try {
    const [first, ...further] = signForAws({ ...request, scope: { region, service: "sts", expiresS: null } }, keys);
    if (first === undefined) throw new Fault("a signature without a field");
    return { headerName: first.name, headerValue: first.value, further };
  } finally {
    wipeAwsKeys(keys);
  }
}
