// What the programs here share: a line for each check, and where the server is.
import assert from 'node:assert/strict';

export const to = { host: process.env.DB_HOST, port: Number(process.env.DB_PORT), user: process.env.DB_USER, password: '', database: process.env.DB_NAME };
export { assert };
let of = '';
export function about(name) { of = name; }
export async function check(name, step) {
    try {
        await step();
        console.log(`ok ${of}, ${name}`);
    } catch (trouble) {
        console.error(trouble);
        console.log(`FAILED ${of}, ${name}: ${String(trouble.message).replace(/\s+/g, ' ').slice(0, 400)}`);
    }
}
