import type { Api, ApiOperation } from "../model/api.ts";
import { classifyEffect } from "./classify-effect.ts";
import type { EffectVerdict } from "./effect.ts";
import { answerFields, answersList, bodyFields } from "./list-fields.ts";

/** An effect shows in the first members, or in those of the first list. */
const NEAR = 2;

/** The effect of every operation, each judged by its name, path, text, method, body and answer. */
export function classifyApi(api: Api): ReadonlyMap<ApiOperation, EffectVerdict> {
  const verdicts = new Map<ApiOperation, EffectVerdict>();
  for (const operation of api.operations) {
    const answers = answerFields(api.schemas, operation, NEAR);
    verdicts.set(
      operation,
      classifyEffect(operation, {
        bodyFields: bodyFields(api.schemas, operation, NEAR).map(({ name }) => name),
        answersList: answersList(api.schemas, operation),
        answersToken: answers.some(({ steering, path }) => steering === "token" && !path.includes(".")),
      }),
    );
  }
  return verdicts;
}
