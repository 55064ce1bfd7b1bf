// What the server says of itself to who asks: what is served, as whom, and what else of the console is there.

export interface Source {
  name: string;
  database: string;
  contents: string;
}

export interface Role {
  name: string;
  unrestricted: boolean;
}

export interface Description {
  version: string;
  sources: Source[];
  example: string;
  /** Whether operations are explained to who asks. */
  explain: boolean;
  /** Whether the metrics are served beside this page. */
  metrics: boolean;
  /** None where everybody may do everything. */
  role: Role | null;
  /** Why who asks is told nothing. */
  refusal?: string;
}

export type Headers = Record<string, string>;

/** What is shown where nobody is told what is served before it is known who asks. */
const LOCKED: Description = {
  version: '',
  sources: [],
  example: '# Who asks is not known:\n# put a token under Headers.\n{ __typename }\n',
  explain: false,
  metrics: true,
  role: null,
};

export async function describe(headers: Headers = {}): Promise<Description> {
  const response = await fetch('/console.json', { headers });
  if (response.status === 401 || response.status === 403) return { ...LOCKED, refusal: await refusal(response) };
  if (!response.ok) throw new Error(`the server answered ${response.status} to /console.json`);
  return (await response.json()) as Description;
}

/** The first error of a response, in the server's words. */
export async function refusal(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { errors?: { message: string }[] };
    if (body.errors?.length) return body.errors.map(({ message }) => message).join('\n');
  } catch {
    // It is no JSON; its status says as much as is known.
  }
  return `the server answered ${response.status}`;
}

/** The headers that an editor's text holds; null where it is no object of texts. */
export function readHeaders(text: string | undefined): Headers | null {
  if (!text?.trim()) return {};
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return null;
    return Object.fromEntries(Object.entries(read).map(([name, value]) => [name, String(value)]));
  } catch {
    return null;
  }
}
